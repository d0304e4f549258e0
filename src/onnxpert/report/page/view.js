// The picture itself: what is in sight is painted, the rest only known.

const FAR = 0.2; // below this scale no text can be read, and boxes are only colours

class View {
  constructor(canvas, graph) {
    this.canvas = canvas;
    this.graph = graph;
    this.paper = canvas.getContext("2d");
    this.scale = 1; this.x = 0; this.y = 0;
    this.selected = null; this.hover = null; this.matches = new Set();
    this.onSelect = () => {};
    this.listen();
    this.theme();
    this.relayout();
    this.resize();
    this.home();
  }

  // ---- colours and sizes

  theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue("--" + name).trim();
    this.c = {};
    for (const name of ["text", "soft", "faint", "surface", "accent", "bad", "bad-bg", "warn", "warn-bg", "good", "good-bg", "edge",
      "group-0", "group-1", "group-2", "group-line", "c-matrix", "c-norm", "c-act", "c-shape", "c-reduce",
      "c-math", "c-flow", "c-port", "bg"]) this.c[name] = read(name);
    this.sans = read("sans"); this.mono = read("mono");
    this.draw();
  }

  measure(item) {
    return item.size || (item.size = this.sized(item));
  }

  sized(item) {
    const paper = this.paper;
    paper.font = "600 13px " + this.sans;
    const title = paper.measureText(short(item.title, 30)).width;
    paper.font = "11px " + this.sans;
    const detail = item.detail ? paper.measureText(short(item.detail, 34)).width : 0;
    const extra = item.leaf ? 26 : 52;
    return [Math.max(56, Math.ceil(Math.max(title, detail) + extra)), item.detail ? 42 : 28];
  }

  relayout() {
    arrange(this.graph, (item) => this.measure(item));
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.wide = box.width; this.high = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.draw();
  }

  // ---- where one looks

  fit(moving = true) {
    const { w, h } = this.graph.root;
    const scale = Math.min(1.25, (this.wide - 32) / w, (this.high - 32) / h);
    this.go(scale, (this.wide - w * scale) / 2, (this.high - h * scale) / 2, moving);
  }

  // The top of the graph, as large as can be read.
  home() {
    const { w, h } = this.graph.root;
    const whole = Math.min((this.wide - 32) / w, (this.high - 32) / h);
    const scale = Math.max(Math.min(1.1, whole), Math.min(1, (this.wide - 32) / w), 0.55);
    const fits = h * scale <= this.high - 32;
    this.go(scale, (this.wide - w * scale) / 2, fits ? (this.high - h * scale) / 2 : 16, false);
  }

  go(scale, x, y, moving = true) {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    cancelAnimationFrame(this.flight);
    if (!moving || still) { this.scale = scale; this.x = x; this.y = y; this.draw(); return; }
    const from = [this.scale, this.x, this.y], start = performance.now();
    const step = (now) => {
      const t = Math.min(1, (now - start) / 220), ease = 1 - (1 - t) ** 3;
      this.scale = from[0] * (scale / from[0]) ** ease;
      this.x = from[1] + (x - from[1]) * ease;
      this.y = from[2] + (y - from[2]) * ease;
      this.paint();
      if (t < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  zoom(factor, x = this.wide / 2, y = this.high / 2, moving = false) {
    const scale = Math.max(0.02, Math.min(3, this.scale * factor));
    const by = scale / this.scale;
    this.go(scale, x - (x - this.x) * by, y - (y - this.y) * by, moving);
  }

  pan(dx, dy) { this.go(this.scale, this.x + dx, this.y + dy, false); }

  center(item, moving = true) {
    const scale = Math.max(this.scale, 0.8);
    const open = !item.leaf && item.open;
    const x = item.left + item.w / 2, y = open ? item.top + 20 : item.top + item.h / 2;
    const middle = this.wide > 700 ? this.wide * 0.36 : this.wide / 2; // the panel is at the right
    this.go(scale, middle - x * scale, this.high / (open ? 4 : 2.4) - y * scale, moving);
  }

  // ---- folding

  toggle(box, open = !box.open) {
    if (box === this.graph.root || box.open === open) return;
    const x = box.left + box.w / 2, y = box.top;
    box.open = open;
    this.relayout();
    // What was pressed stays where it was.
    this.go(this.scale, this.x + (x - box.left - box.w / 2) * this.scale, this.y + (y - box.top) * this.scale, false);
  }

  foldAll() {
    eachGroup(this.graph.root, (box) => { box.open = box === this.graph.root; });
    this.relayout();
    this.home();
  }

  unfoldAll() {
    eachGroup(this.graph.root, (box) => { box.open = true; });
    this.relayout();
    this.home();
  }

  reveal(node) {
    let changed = false;
    for (let box = node.parent; box; box = box.parent) if (!box.open) { box.open = true; changed = true; }
    if (changed) this.relayout();
    this.select(node);
    this.center(node, !changed);
  }

  select(item) {
    this.selected = item;
    this.onSelect(item);
    this.draw();
  }

  // ---- painting

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const { paper, ratio, scale } = this;
    if (!ratio) return;
    paper.setTransform(ratio, 0, 0, ratio, 0, 0);
    paper.fillStyle = this.c["group-0"];
    paper.fillRect(0, 0, this.wide, this.high);
    paper.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * this.x, ratio * this.y);
    this.sight = [-this.x / scale, -this.y / scale, (this.wide - this.x) / scale, (this.high - this.y) / scale];
    this.painted = 0;
    this.near = this.selected && this.selected.leaf ? this.neighbours(this.selected) : null;
    this.inside(this.graph.root, 0);
  }

  neighbours(node) {
    return new Set([node.index, ...node.inputs]);
  }

  visible(left, top, right, bottom) {
    const [l, t, r, b] = this.sight;
    return left <= r && right >= l && top <= b && bottom >= t;
  }

  inside(box, depth) {
    for (const item of box.items) {
      if (!item.leaf && item.open && this.seen(item)) this.frame(item, depth);
    }
    this.lines(box);
    for (const item of box.items) {
      if (!this.seen(item)) continue;
      if (!item.leaf && item.open) this.inside(item, depth + 1);
      else this.box(item);
    }
  }

  seen(item) {
    return this.visible(item.left - 12, item.top - 12, item.left + item.w + 12, item.top + item.h + 12);
  }

  frame(box, depth) {
    const { paper, c } = this;
    this.round(box.left, box.top, box.w, box.h, 12);
    paper.fillStyle = depth % 2 ? c["group-2"] : c["group-1"];
    paper.fill();
    paper.lineWidth = box === this.selected ? 2 : 1;
    paper.strokeStyle = box === this.selected ? c.accent : this.tone(box.alarm, c["group-line"]);
    paper.stroke();
    if (this.scale * 12 < 5) return;
    paper.fillStyle = c.soft;
    paper.font = "600 12px " + this.sans;
    paper.textAlign = "left"; paper.textBaseline = "middle";
    paper.fillText(box.title, box.left + 32, box.top + 17);
    this.sign(box.left + 18, box.top + 17, false);
  }

  tone(alarm, other) {
    return alarm ? this.c[alarm] : other;
  }

  sign(x, y, plus) {
    const { paper, c } = this;
    paper.strokeStyle = c.faint; paper.lineWidth = 1.6; paper.lineCap = "round";
    paper.beginPath();
    paper.moveTo(x - 4, y); paper.lineTo(x + 4, y);
    if (plus) { paper.moveTo(x, y - 4); paper.lineTo(x, y + 4); }
    paper.stroke();
  }

  lines(box) {
    const { paper, c, scale } = this;
    if (scale < FAR) { this.strokes(box); return; }
    paper.lineCap = "round";
    for (const edge of box.drawn) {
      const made = edge.points, first = made[0], last = made[made.length - 1];
      if (edge.jump) { this.reference(edge, first, last); continue; }
      let left = first[0], right = first[0];
      for (const point of made) { if (point[0] < left) left = point[0]; if (point[0] > right) right = point[0]; }
      if (!this.visible(left, Math.min(first[1], last[1]), right, Math.max(first[1], last[1]))) continue;
      const hot = this.near && this.hot(edge);
      paper.strokeStyle = hot ? c.accent : c.edge;
      paper.lineWidth = hot ? 2 : Math.min(3, 1.1 + 0.3 * Math.log2(edge.many));
      paper.setLineDash(edge.back ? [5, 4] : []);
      paper.beginPath();
      paper.moveTo(first[0], first[1]);
      for (let at = 1; at < made.length; at++) {
        const [x0, y0] = made[at - 1], [x1, y1] = made[at];
        if (x0 === x1) paper.lineTo(x1, y1);
        else { const half = (y1 - y0) / 2; paper.bezierCurveTo(x0, y0 + half, x1, y1 - half, x1, y1); }
      }
      paper.stroke();
      if (scale > 0.3 && !edge.b.port) this.arrow(last, hot ? c.accent : c.edge);
    }
    paper.setLineDash([]);
  }

  // From far away: every line of a module in one stroke, straight.
  strokes(box) {
    const { paper } = this;
    paper.strokeStyle = this.c.edge; paper.lineWidth = 1.2;
    paper.beginPath();
    for (const { jump, points } of box.drawn) {
      if (jump || !this.visible(-Infinity, points[0][1], Infinity, points[points.length - 1][1])) continue;
      paper.moveTo(points[0][0], points[0][1]);
      for (let at = 1; at < points.length; at++) paper.lineTo(points[at][0], points[at][1]);
    }
    paper.stroke();
  }

  hot(edge) {
    const at = this.selected.index;
    const ends = edge.to.b === this.selected || edge.to.a === this.selected;
    return ends || (edge.many === 1 && edge.from === at);
  }

  arrow([x, y], colour) {
    const { paper } = this;
    paper.setLineDash([]);
    paper.fillStyle = colour;
    paper.beginPath();
    paper.moveTo(x, y); paper.lineTo(x - 3.4, y - 6.5); paper.lineTo(x + 3.4, y - 6.5);
    paper.fill();
  }

  // A value from far away: a stub at both ends instead of a line across the whole picture.
  reference(edge, [x0, y0], [x1, y1]) {
    const { paper, c } = this;
    paper.strokeStyle = c.edge; paper.lineWidth = 1.1; paper.setLineDash([2, 3]);
    const ends = [[x1, y1 - 13, y1]];
    if (!edge.a.port) ends.push([x0, y0, y0 + 13]);
    for (const [x, from, to] of ends) {
      if (!this.visible(x, from, x, to)) continue;
      paper.beginPath(); paper.moveTo(x, from); paper.lineTo(x, to); paper.stroke();
    }
    paper.setLineDash([]);
    if (this.scale > 0.5 && this.visible(x1 - 20, y1 - 26, x1 + 130, y1)) {
      const source = this.graph.nodes[edge.from];
      const text = "↑ " + short((source.name || source.title).split(/[/.]/).pop(), 18);
      paper.font = "10px " + this.sans;
      paper.textAlign = "left"; paper.textBaseline = "middle";
      paper.fillStyle = c.faint;
      paper.fillText(text, x1 + 5, y1 - 10);
    }
  }

  box(item) {
    const { paper, c, scale } = this;
    this.painted++;
    const { left, top, w, h } = item;
    const ring = item === this.selected ? c.accent : this.matches.has(item) ? c.warn : "";
    const colour = this.colour(item);
    if (scale < FAR) {
      paper.fillStyle = ring || this.tone(item.alarm, item.leaf ? colour : c["group-line"]);
      paper.globalAlpha = ring || item.alarm ? 1 : 0.55;
      paper.fillRect(left, top, w, h);
      paper.globalAlpha = 1;
      return;
    }
    const round = item.family === "port" ? h / 2 : item.leaf ? 7 : 10;
    if (ring) {
      this.round(left - 4, top - 4, w + 8, h + 8, round + 4);
      paper.fillStyle = ring; paper.globalAlpha = 0.25; paper.fill(); paper.globalAlpha = 1;
    }
    this.round(left, top, w, h, round);
    paper.fillStyle = c.surface; paper.fill();
    if (item.leaf) {
      paper.fillStyle = item.alarm ? c[item.alarm + "-bg"] : colour;
      paper.globalAlpha = item.alarm ? 1 : item.family === "port" ? 0.06 : 0.12;
      paper.fill(); paper.globalAlpha = 1;
    } else {
      paper.fillStyle = item.alarm ? c[item.alarm + "-bg"] : c["group-2"];
      paper.globalAlpha = item.alarm ? 0.7 : 1;
      paper.fill(); paper.globalAlpha = 1;
    }
    paper.lineWidth = ring || item.alarm ? 1.8 : 1.1;
    paper.strokeStyle = ring || this.tone(item.alarm, item.leaf ? colour : c["group-line"]);
    paper.globalAlpha = ring || item.alarm || !item.leaf ? 1 : 0.5;
    paper.stroke(); paper.globalAlpha = 1;
    if (scale * 13 < 4.5) return;
    this.words(item, colour);
  }

  words(item, colour) {
    const { paper, c } = this;
    const { left, top, w, h } = item;
    const middle = item.leaf ? left + w / 2 : left + w / 2 + 9;
    paper.textAlign = "center"; paper.textBaseline = "middle";
    paper.fillStyle = item.alarm ? c[item.alarm] : item.leaf ? colour : c.text;
    paper.font = "600 13px " + this.sans;
    paper.fillText(short(item.title, 30), middle, item.detail ? top + h / 2 - 7.5 : top + h / 2 + 0.5);
    if (item.detail) {
      paper.fillStyle = c.soft;
      paper.font = "11px " + this.sans;
      paper.fillText(short(item.detail, 34), middle, top + h / 2 + 9);
    }
    if (!item.leaf) {
      this.sign(left + 17, top + h / 2, true);
      if (item.sick) this.badge(left + w - 4, top + 2, item.sick, item.alarm);
    } else if (item.bad) this.badge(left + w - 3, top + 1, "!", item.alarm);
  }

  badge(x, y, text, alarm) {
    const { paper, c } = this;
    paper.beginPath(); paper.arc(x, y, 9, 0, 7); paper.fillStyle = c[alarm] || c.bad; paper.fill();
    paper.fillStyle = c.surface; paper.font = "700 10.5px " + this.sans;
    paper.textAlign = "center"; paper.textBaseline = "middle";
    paper.fillText(text > 99 ? "99+" : String(text), x, y + 0.5);
  }

  colour(item) {
    return this.c["c-" + item.family] || this.c["c-port"];
  }

  round(x, y, w, h, r) {
    this.paper.beginPath();
    this.paper.roundRect(x, y, w, h, r);
  }

  // ---- hands

  at(x, y) {
    const px = (x - this.x) / this.scale, py = (y - this.y) / this.scale;
    const within = (item) => px >= item.left && px <= item.left + item.w && py >= item.top && py <= item.top + item.h;
    let box = this.graph.root, found = null;
    for (;;) {
      const item = box.items.find(within);
      if (!item) return found;
      found = item;
      if (item.leaf || !item.open) return found;
      box = item;
    }
  }

  onSign(item, x, y) {
    if (!item || item.leaf) return false;
    const px = (x - this.x) / this.scale - item.left, py = (y - this.y) / this.scale - item.top;
    return px < 32 && (item.open ? py < 32 : true);
  }

  listen() {
    const canvas = this.canvas, held = new Map();
    let moved = 0, apart = 0;
    const spot = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, spot(event));
      if (held.size === 1) moved = 0;
      apart = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = spot(event);
      if (!held.has(event.pointerId)) {
        canvas.classList.toggle("over", Boolean(this.at(...now)));
        return;
      }
      const was = held.get(event.pointerId);
      held.set(event.pointerId, now);
      moved += Math.abs(now[0] - was[0]) + Math.abs(now[1] - was[1]);
      if (held.size === 2) {
        const [a, b] = [...held.values()];
        const span = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (apart) this.zoom(span / apart, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        apart = span;
      } else if (moved > 4) {
        canvas.classList.add("drag");
        this.pan(now[0] - was[0], now[1] - was[1]);
      }
    });
    const release = (event) => {
      const alone = held.size === 1 && held.has(event.pointerId);
      held.delete(event.pointerId);
      apart = 0;
      canvas.classList.remove("drag");
      if (!alone || moved > 4 || event.type === "pointercancel") return;
      const now = spot(event), item = this.at(...now);
      if (this.onSign(item, ...now)) this.toggle(item);
      else this.select(item);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("dblclick", (event) => {
      const now = spot(event), item = this.at(...now);
      if (item && !item.leaf && !this.onSign(item, ...now)) this.toggle(item);
    });
    canvas.addEventListener("wheel", (event) => {
      // Without a key the page scrolls on, until one has clicked into the picture.
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0022)), ...spot(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (moves[event.key]) this.pan(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else if (event.key === "Enter" && this.selected && !this.selected.leaf) this.toggle(this.selected);
      else if (event.key === "Escape") this.select(null);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.resize()).observe(canvas);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.theme());
  }
}

function short(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}
