/* A kernel library for ONNX Runtime with one operator: com.example::scale, y = x * s in float32.
 *
 * ONNX Runtime's C interface is a table of functions that only ever grows at its end, so the few
 * that are needed are called by their places in it, and no header has to be there. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef void *Handle;
typedef struct { const Handle *(*get_api)(uint32_t version); } ApiBase;

enum {
    CREATE_DOMAIN = 26, DOMAIN_ADD = 27, ADD_DOMAIN = 28, GET_DATA = 51, DIMENSION_COUNT = 61,
    DIMENSIONS = 62, ELEMENT_COUNT = 64, TYPE_AND_SHAPE = 65, FLOAT_ATTRIBUTE = 85, GET_INPUT = 90,
    GET_OUTPUT = 91, RELEASE_SHAPE = 99
};
#define CALL(api, place, type) ((type)(api)[place])
#define MOST_DIMENSIONS 16

typedef struct { const Handle *api; float s; } Kernel;

typedef struct Operator {
    uint32_t version;
    Handle (*create)(const struct Operator *, const Handle *, Handle);
    const char *(*name)(const struct Operator *);
    const char *(*provider)(const struct Operator *);
    int (*input_type)(const struct Operator *, size_t);
    size_t (*inputs)(const struct Operator *);
    int (*output_type)(const struct Operator *, size_t);
    size_t (*outputs)(const struct Operator *);
    void (*compute)(Handle, Handle);
    void (*destroy)(Handle);
    int (*input_kind)(const struct Operator *, size_t);
    int (*output_kind)(const struct Operator *, size_t);
    int (*input_memory)(const struct Operator *, size_t);
    Handle newer[32]; /* what later versions added: this operator says it is of version 8 */
} Operator;

static Handle create(const Operator *op, const Handle *api, Handle info) {
    Kernel *kernel = malloc(sizeof(Kernel));
    (void)op;
    kernel->api = api;
    CALL(api, FLOAT_ATTRIBUTE, Handle (*)(Handle, const char *, float *))(info, "s", &kernel->s);
    return kernel;
}

static void compute(Handle given, Handle context) {
    Kernel *kernel = given;
    const Handle *api = kernel->api;
    int64_t sizes[MOST_DIMENSIONS];
    Handle x, y, shape;
    size_t rank, count, i;
    float *from, *to;
    CALL(api, GET_INPUT, Handle (*)(Handle, size_t, Handle *))(context, 0, &x);
    CALL(api, TYPE_AND_SHAPE, Handle (*)(Handle, Handle *))(x, &shape);
    CALL(api, DIMENSION_COUNT, Handle (*)(Handle, size_t *))(shape, &rank);
    CALL(api, DIMENSIONS, Handle (*)(Handle, int64_t *, size_t))(shape, sizes, rank);
    CALL(api, ELEMENT_COUNT, Handle (*)(Handle, size_t *))(shape, &count);
    CALL(api, RELEASE_SHAPE, void (*)(Handle))(shape);
    CALL(api, GET_OUTPUT, Handle (*)(Handle, size_t, const int64_t *, size_t, Handle *))(
        context, 0, sizes, rank, &y);
    CALL(api, GET_DATA, Handle (*)(Handle, void **))(x, (void **)&from);
    CALL(api, GET_DATA, Handle (*)(Handle, void **))(y, (void **)&to);
    for (i = 0; i < count; i++) to[i] = from[i] * kernel->s;
}

static const char *name(const Operator *op) { (void)op; return "scale"; }
static const char *provider(const Operator *op) { (void)op; return NULL; }
static int float32(const Operator *op, size_t index) { (void)op; (void)index; return 1; }
static int plain(const Operator *op, size_t index) { (void)op; (void)index; return 0; }
static size_t one(const Operator *op) { (void)op; return 1; }

static Operator scale = {8,   create,  name, provider, float32, one,   float32,
                         one, compute, free, plain,    plain,   plain, {0}};

Handle RegisterCustomOps(Handle options, const ApiBase *base) {
    const Handle *api = base->get_api(1);
    Handle domain = NULL;
    Handle status;
    status = CALL(api, CREATE_DOMAIN, Handle (*)(const char *, Handle *))("com.example", &domain);
    if (status == NULL)
        status = CALL(api, DOMAIN_ADD, Handle (*)(Handle, Operator *))(domain, &scale);
    if (status == NULL)
        status = CALL(api, ADD_DOMAIN, Handle (*)(Handle, Handle))(options, domain);
    return status;
}
