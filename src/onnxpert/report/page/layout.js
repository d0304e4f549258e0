"use strict";
// The layered layout: modules are boxes inside boxes, each laid out by itself.

const KIND = { INPUT: 0, OUTPUT: 1, OPERATOR: 2, MISSING: 3 };
const GAP = { x: 18, y: 30, pad: 16, head: 28 };
const LONGEST = 16; // layers that a line is drawn through; a longer one becomes a reference
const CROWD = 4; // lines from one place; where there are more, those that pass layers become references
const SWEEPS = 8;

const FAMILIES = {
  matrix: /^(Conv|ConvTranspose|ConvInteger|MatMul\w*|Gemm|Einsum|QLinear\w*|Attention|MultiHeadAttention|GroupQueryAttention|LSTM|GRU|RNN|DeformConv)$/,
  norm: /Norm/,
  act: /^(\w*Relu\d?|Relu6|Sigmoid|Tanh|Gelu|Silu|Swish|Elu|Celu|Selu|Softmax|LogSoftmax|Softplus|Softsign|Mish|HardS\w+|Erf|Clip|ThresholdedRelu|Hardmax|Shrink|Dropout)$/,
  reduce: /^(Reduce\w*|\w*Pool|ArgM\w+|TopK|CumSum|CumProd|NonZero|Unique)$/,
  flow: /^(If|Loop|Scan|Sequence\w*|Optional\w*)$/,
  shape: /^(Reshape|Transpose|Concat|Split\w*|Slice|Gather\w*|Scatter\w*|Squeeze|Unsqueeze|Expand|Shape|Size|Flatten|Pad|Tile|Cast\w*|Constant\w*|Identity|Range|OneHot|Where|Trilu|Resize|Upsample|DepthToSpace|SpaceToDepth|EyeLike|Compress)$/,
};

function family(op) {
  for (const name in FAMILIES) if (FAMILIES[name].test(op)) return name;
  return "math";
}

function readGraph(data) {
  const root = group("", null);
  const nodes = data.nodes.map((row, index) => {
    const [kind, op, name, inputs, types, weights, module, body, place, findings, diverges] = row;
    return {
      leaf: true, index, kind, op, name, inputs, types, weights, module, body, place, findings,
      users: [], title: op || name, detail: subtitle(kind, types, weights),
      family: kind === KIND.MISSING ? "missing" : op ? family(op) : "port",
      bad: findings.length > 0 || diverges === 1 || kind === KIND.MISSING, diverges,
      alarm: worst(findings, data.findings, diverges === 1 || kind === KIND.MISSING),
    };
  });
  for (const node of nodes) {
    for (const from of node.inputs) nodes[from].users.push(node.index);
    let parent = root;
    const path = node.module ? node.module.split(".") : [];
    if (node.body) path.push(node.body);
    for (const part of path) parent = parent.named.get(part) || child(parent, part);
    node.parent = parent;
    parent.items.push(node);
  }
  settle(root);
  return { root, nodes };
}

function subtitle(kind, types, weights) {
  if (kind === KIND.INPUT || kind === KIND.OUTPUT) return types[0] || "";
  const heavy = weights.map((each) => /\[([^\]]+)\]$/.exec(each)).find((found) => found && found[1].includes(","));
  if (heavy) return heavy[1].split(", ").join(" × ");
  const shape = types.length ? /\[(.*)\]$/.exec(types[0]) : null;
  return shape && shape[1] && shape[1] !== "..." ? "[" + shape[1] + "]" : "";
}

function worst(findings, known, sure) {
  const levels = findings.map((at) => (known[at] || ["error"])[0]);
  if (sure || levels.includes("error")) return "bad";
  return levels.length ? (levels.includes("warning") ? "warn" : "good") : "";
}

function group(name, parent) {
  return { leaf: false, name, title: name, parent, items: [], named: new Map(), open: false, family: "group" };
}

function child(parent, name) {
  const made = group(name, parent);
  parent.named.set(name, made);
  parent.items.push(made);
  return made;
}

// Joins chains of modules that hold nothing else, and counts what is inside.
function settle(box) {
  for (let at = 0; at < box.items.length; at++) {
    let item = box.items[at];
    while (!item.leaf && item.items.length === 1 && !item.items[0].leaf) {
      const only = item.items[0];
      only.title = item.title + "." + only.title;
      only.parent = box;
      box.items[at] = item = only;
    }
    if (!item.leaf) settle(item);
    if (!item.leaf && item.items.length === 1 && item.items[0].leaf) { // a frame around one node says nothing
      box.items[at] = item.items[0];
      box.items[at].parent = box;
    }
  }
  box.count = 0; box.sick = 0; box.alarm = ""; box.first = Infinity;
  for (const item of box.items) {
    box.count += item.leaf ? (item.op ? 1 : 0) : item.count;
    box.sick += item.leaf ? (item.bad ? 1 : 0) : item.sick;
    box.first = Math.min(box.first, item.leaf ? item.index : item.first);
    if (item.alarm === "bad" || (item.alarm && box.alarm !== "bad")) box.alarm = item.alarm;
  }
  box.items.sort((a, b) => (a.leaf ? a.index : a.first) - (b.leaf ? b.index : b.first));
  box.detail = box.count.toLocaleString("en") + (box.count === 1 ? " node" : " nodes");
}

// Opens modules level by level while the picture stays small enough to be read at once.
function openSome(root, most) {
  root.open = true;
  let visible = root.items.length;
  let level = root.items.filter((item) => !item.leaf);
  while (level.length) {
    visible += level.reduce((sum, box) => sum + box.items.length, 0);
    if (visible > most) return;
    for (const box of level) box.open = true;
    level = level.flatMap((box) => box.items.filter((item) => !item.leaf));
  }
}

function eachGroup(box, act) {
  act(box);
  for (const item of box.items) if (!item.leaf) eachGroup(item, act);
}

// The boxes that hold a node and are open, outermost first, then the node or the box that hides it.
function chain(node) {
  const path = [];
  for (let at = node; at; at = at.parent) path.unshift(at);
  const closed = path.findIndex((item) => !item.leaf && !item.open);
  return closed < 0 ? path : path.slice(0, closed + 1);
}

function arrange(graph, measure) {
  eachGroup(graph.root, (box) => { box.links = new Map(); });
  const chains = graph.nodes.map(chain);
  for (const node of graph.nodes) {
    for (const from of node.inputs) connect(chains[from], chains[node.index], from);
  }
  place(graph.root, measure);
  settleAt(graph.root, 0, 0);
}

function connect(source, target, from) {
  let at = 1;
  while (at < source.length && at < target.length && source[at] === target[at]) at++;
  if (at >= source.length || at >= target.length) return; // inside one closed module
  link(source[at - 1], source[at], target[at], from);
  for (let deep = at + 1; deep < target.length; deep++) link(target[deep - 1], "in", target[deep], from);
  for (let deep = at + 1; deep < source.length; deep++) link(source[deep - 1], source[deep], "out", from);
}

function link(box, a, b, from) {
  const key = name(a) + ">" + name(b);
  const known = box.links.get(key);
  if (known) known.many++;
  else box.links.set(key, { a, b, many: 1, from });
}

let names = 0;
function name(item) {
  if (typeof item === "string") return item;
  return item.key || (item.key = "k" + ++names);
}

// Sizes of everything inside an open box, then the box itself; positions are relative to it.
function place(box, measure) {
  const items = box.items.slice();
  for (const item of items) {
    if (!item.leaf && item.open) place(item, measure);
    else [item.w, item.h] = measure(item);
  }
  const ports = { in: port(), out: port() };
  const order = new Map(items.map((item, at) => [item, at]));
  order.set(ports.in, -1).set(ports.out, items.length);
  const edges = [];
  for (const each of box.links.values()) {
    const a = ports[each.a] || each.a, b = ports[each.b] || each.b;
    const back = order.get(a) > order.get(b);
    edges.push({ a: back ? b : a, b: back ? a : b, back, many: each.many, from: each.from, to: each });
  }
  const used = edges.flatMap((edge) => [edge.a, edge.b]);
  if (used.includes(ports.in)) items.unshift(ports.in);
  if (used.includes(ports.out)) items.push(ports.out);
  rank(items, edges, ports);
  const { layers, drawn } = layered(items, edges);
  sortLayers(layers);
  coordinates(layers);
  alignPorts(layers);
  const depth = stack(layers);
  finish(box, layers, drawn, depth, ports);
}

function port() {
  return { port: true, w: 2, h: 0 };
}

function rank(items, edges, ports) {
  const out = new Map(items.map((item) => [item, []]));
  for (const item of items) { item.rank = 0; item.sources = 0; }
  for (const edge of edges) { out.get(edge.a).push(edge.b); edge.b.sources++; }
  for (const item of items) for (const next of out.get(item)) next.rank = Math.max(next.rank, item.rank + 1);
  for (let at = items.length - 1; at >= 0; at--) { // what nothing feeds stands right above its user
    const item = items[at], users = out.get(item);
    if (!item.sources && users.length && item !== ports.in) item.rank = Math.min(...users.map((user) => user.rank)) - 1;
  }
  const last = Math.max(0, ...items.filter((item) => item !== ports.out).map((item) => item.rank));
  if (items.includes(ports.out)) ports.out.rank = last + 1;
}

// Lines that pass layers get a bend in each, so that they keep clear of what stands there.
function layered(items, edges) {
  const layers = [];
  const put = (item) => { (layers[item.rank] = layers[item.rank] || []).push(item); };
  items.forEach(put);
  for (const item of items) { item.up = []; item.down = []; }
  const fan = new Map();
  for (const edge of edges) fan.set(edge.a, (fan.get(edge.a) || 0) + 1);
  const drawn = [];
  for (const edge of edges) {
    const span = edge.b.rank - edge.a.rank;
    const jump = !edge.b.port && (span > LONGEST || (span > 2 && fan.get(edge.a) > CROWD));
    const bends = [];
    if (!jump) {
      let before = edge.a;
      for (let at = edge.a.rank + 1; at < edge.b.rank; at++) {
        const bend = { bend: true, w: 8, h: 0, rank: at, up: [before], down: [] };
        before.down.push(bend);
        put(bend);
        bends.push(bend);
        before = bend;
      }
      before.down.push(edge.b);
      edge.b.up.push(before);
    }
    drawn.push({ ...edge, jump, bends });
  }
  return { layers: Array.from(layers, (layer) => layer || []), drawn };
}

function sortLayers(layers) {
  for (const layer of layers) layer.forEach((item, at) => { item.at = at; });
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const order = down ? layers : layers.slice().reverse();
    for (const layer of order) {
      if (layer.length < 2) continue;
      for (const item of layer) {
        const near = down ? item.up : item.down;
        item.mean = near.length ? near.reduce((sum, other) => sum + other.at / sizeOf(layers, other), 0) / near.length : item.at / layer.length;
      }
      layer.sort((a, b) => a.mean - b.mean || a.at - b.at);
      layer.forEach((item, at) => { item.at = at; });
    }
  }
}

function sizeOf(layers, item) {
  return layers[item.rank].length;
}

function coordinates(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const item of layer) { item.x = x + item.w / 2; x += item.w + GAP.x; }
    for (const item of layer) item.x -= x / 2;
  }
  for (let sweep = 0; sweep < 13; sweep++) { // the last one goes down: what follows stands below
    const down = sweep % 2 === 0;
    const order = down ? layers : layers.slice().reverse();
    for (const layer of order) {
      pack(layer, (item) => {
        const near = straight(item, down ? item.up : item.down);
        let sum = 0, weight = 0;
        for (const other of near) {
          const pull = item.bend ? (other.bend ? 3 : 1) : other.bend || other.port ? 1 : 10;
          sum += other.x * pull;
          weight += pull;
        }
        return weight ? [sum / weight, weight] : [item.x, 0.05];
      });
    }
  }
}

function alignPorts(layers) {
  for (const layer of layers) {
    if (layer.length !== 1 || !layer[0].port) continue;
    const [near] = straight(layer[0], layer[0].up.concat(layer[0].down));
    if (near) layer[0].x = near.x + aside(near, layer[0].down.length ? "inX" : "outX");
  }
}

// How far from the middle of an open module its lines come in, or go out.
function aside(item, side) {
  return item.open && item.parent ? item[side] - item.w / 2 : 0;
}

// A box lines up with boxes, not with lines that pass: what follows each other stands in a column.
function straight(item, near) {
  if (item.bend) return near;
  const boxes = near.filter((other) => !other.bend && !other.port);
  return boxes.length ? boxes : near;
}

// The nearest positions to the wished ones that keep order and distance: isotonic regression.
function pack(layer, wish) {
  const blocks = [];
  let offset = 0;
  layer.forEach((item, at) => {
    if (at) offset += (layer[at - 1].w + item.w) / 2 + GAP.x;
    item.offset = offset;
    const [x, weight] = wish(item);
    let block = { sum: (x - offset) * weight, weight, from: at, to: at };
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight > block.sum / block.weight) {
      const before = blocks.pop();
      block = { sum: before.sum + block.sum, weight: before.weight + block.weight, from: before.from, to: at };
    }
    blocks.push(block);
  });
  for (const block of blocks) {
    for (let at = block.from; at <= block.to; at++) layer[at].x = block.sum / block.weight + layer[at].offset;
  }
}

function stack(layers) {
  let y = 0;
  for (const layer of layers) {
    const tall = Math.max(0, ...layer.map((item) => item.h));
    for (const item of layer) { item.y = y + (item.bend ? 0 : (tall - item.h) / 2); item.band = [y, y + tall]; }
    y += tall + (layer.every((item) => item.port) ? 6 : GAP.y);
  }
  return Math.max(0, y - GAP.y);
}

function finish(box, layers, drawn, depth, ports) {
  let left = Infinity, right = -Infinity;
  for (const layer of layers) {
    for (const item of layer) { left = Math.min(left, item.x - item.w / 2); right = Math.max(right, item.x + item.w / 2); }
  }
  if (left > right) left = right = 0;
  const top = box.parent ? GAP.head + 8 : GAP.pad;
  const wide = Math.max(right - left + 2 * GAP.pad, box.parent ? box.title.length * 7.4 + 90 : 0);
  const shift = (wide - (right - left)) / 2 - left;
  for (const layer of layers) {
    for (const item of layer) { item.x += shift; item.y += top; item.band = [item.band[0] + top, item.band[1] + top]; }
  }
  box.w = wide;
  box.h = top + depth + GAP.pad;
  box.inX = ports.in.x === undefined ? wide / 2 : ports.in.x;
  box.outX = ports.out.x === undefined ? wide / 2 : ports.out.x;
  box.drawn = drawn;
  box.ports = ports;
}

// From relative to absolute: `left`, `top` of every item, and the points of every line.
function settleAt(box, left, top) {
  box.left = left; box.top = top;
  for (const item of box.items) {
    const x = left + item.x - item.w / 2, y = top + item.y;
    if (!item.leaf && item.open) settleAt(item, x, y);
    else { item.left = x; item.top = y; }
  }
  const fans = new Map();
  for (const edge of box.drawn) {
    if (!edge.b.port) fans.set(edge.b, (fans.get(edge.b) || []).concat(edge));
  }
  for (const [item, edges] of fans) {
    edges.sort((p, q) => before(p).x - before(q).x);
    const room = Math.min(16, (item.w - 24) / edges.length);
    edges.forEach((edge, at) => { edge.nudge = item.leaf || !item.open ? (at - (edges.length - 1) / 2) * room : 0; });
  }
  for (const edge of box.drawn) edge.points = points(edge, box);
}

function before(edge) {
  return edge.bends.length ? edge.bends[edge.bends.length - 1] : edge.a;
}

function points(edge, box) {
  const { left, top, ports } = box;
  const made = [];
  if (edge.a === ports.in) made.push([left + edge.a.x, top]);
  else made.push([attach(edge.a, "outX"), edge.a.top + edge.a.h]);
  for (const bend of edge.bends) {
    made.push([left + bend.x, top + bend.band[0]]);
    if (bend.band[1] > bend.band[0]) made.push([left + bend.x, top + bend.band[1]]);
  }
  if (edge.b === ports.out) made.push([left + edge.b.x, top + box.h]);
  else made.push([attach(edge.b, "inX") + (edge.nudge || 0), edge.b.top]);
  return made;
}

function attach(item, side) {
  return item.leaf || !item.open ? item.left + item.w / 2 : item.left + item[side];
}
