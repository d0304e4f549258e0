// Runs one file in onnxruntime-web (WebAssembly) for a parent process.
// node session.cjs PACKAGE MODEL [EXTERNAL-DATA ...]; then on stdin, and back on stdout, messages of
// one line of JSON (what tensors there are) and their bytes one after the other.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

console.log = console.info = console.error; // stdout is for messages

const [, , home, model, ...beside] = process.argv;
const ARRAYS = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

function tell(head, chunks = []) {
  fs.writeSync(1, JSON.stringify(head) + "\n");
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) at += write(chunk, at);
  }
}

function write(chunk, at) {
  try {
    return fs.writeSync(1, chunk, at);
  } catch (error) {
    if (error.code === "EAGAIN") return 0;
    throw error;
  }
}

class Reader {
  constructor(stream) {
    this.chunks = stream[Symbol.asyncIterator]();
    this.held = Buffer.alloc(0);
  }
  async more() {
    const { value, done } = await this.chunks.next();
    if (!done) this.held = Buffer.concat([this.held, value]);
    return !done;
  }
  async line() {
    let end;
    while ((end = this.held.indexOf(10)) < 0) if (!(await this.more())) return null;
    const text = this.held.subarray(0, end).toString();
    this.held = this.held.subarray(end + 1);
    return text;
  }
  async bytes(count) {
    while (this.held.length < count) if (!(await this.more())) throw new Error("cut short");
    const found = this.held.subarray(0, count);
    this.held = this.held.subarray(count);
    return found;
  }
}

async function feeds(ort, head, reader) {
  const found = {};
  for (const { name, type, dims, bytes } of head) {
    const raw = await reader.bytes(bytes);
    const whole = raw.buffer.slice(raw.byteOffset, raw.byteOffset + bytes); // aligned
    found[name] = new ort.Tensor(type, new ARRAYS[type](whole), dims);
  }
  return found;
}

async function main() {
  const ort = require(home);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "fatal";
  const externalData = beside.map((file) => ({
    path: path.relative(path.dirname(model), file), data: fs.readFileSync(file),
  }));
  let session;
  try {
    const options = { executionProviders: ["wasm"], logSeverityLevel: 4, externalData };
    session = await ort.InferenceSession.create(fs.readFileSync(model), options);
  } catch (error) {
    tell({ error: String(error.message || error) });
    return;
  }
  tell({ outputs: session.outputNames });
  const reader = new Reader(process.stdin);
  for (let line; (line = await reader.line()) !== null; ) {
    try {
      const results = await session.run(await feeds(ort, JSON.parse(line), reader));
      const tensors = session.outputNames.map((name) => results[name]);
      const chunks = tensors.map(({ data }) =>
        Buffer.from(data.buffer, data.byteOffset, data.byteLength));
      const heads = tensors.map(({ type, dims }, at) =>
        ({ type, dims: dims.map(Number), bytes: chunks[at].length }));
      tell({ results: heads }, chunks);
    } catch (error) {
      tell({ error: String(error.message || error) });
    }
  }
}

main().then(() => process.exit(0));
