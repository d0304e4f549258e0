// Search, the panel of the selected node, and the ways between findings and the graph.

(() => {
  const holder = document.getElementById("graph-data");
  if (!holder) return;
  document.documentElement.classList.add("live");
  const data = JSON.parse(holder.textContent);
  const graph = readGraph(data);
  openSome(graph.root, 60);
  const card = document.querySelector(".graph");
  const view = new View(card.querySelector("canvas"), graph);
  const panel = card.querySelector(".panel");
  const found = card.querySelector(".found");
  const next = card.querySelector("[data-do=next]");
  const input = card.querySelector("input");

  // ---- search

  let hits = [], at = -1;
  const words = graph.nodes.map((node) => {
    const place = data.places[node.place];
    return [node.op, node.name, node.module, ...node.types, ...node.weights, place ? place[0] + ":" + place[1] : ""].join("\n").toLowerCase();
  });

  function search(text) {
    const wanted = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    hits = wanted.length ? graph.nodes.filter((node) => wanted.every((word) => words[node.index].includes(word))) : [];
    at = -1;
    mark();
    found.textContent = wanted.length ? (hits.length ? hits.length + " found" : "nothing found") : "";
    next.hidden = !hits.length;
  }

  // A match inside a closed module shows on the module.
  function mark() {
    view.matches = new Set(hits.map((node) => chain(node).pop()));
    view.draw();
  }

  function step() {
    if (!hits.length) return;
    at = (at + 1) % hits.length;
    view.reveal(hits[at]);
    mark();
    found.textContent = at + 1 + " of " + hits.length;
  }

  input.addEventListener("input", () => search(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); step(); }
    if (event.key === "Escape") { input.value = ""; search(""); }
  });

  // ---- tools

  const tools = {
    next: step,
    fold: () => { view.foldAll(); mark(); },
    unfold: () => { view.unfoldAll(); mark(); },
    fit: () => view.fit(),
    in: () => view.zoom(1.35, undefined, undefined, true),
    out: () => view.zoom(1 / 1.35, undefined, undefined, true),
  };
  for (const button of card.querySelectorAll("[data-do]")) {
    button.addEventListener("click", tools[button.dataset.do]);
  }

  // ---- the panel

  function make(tag, text, name) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function jump(node) {
    const button = make("button", (node.op ? node.op + " " : "") + node.name, "go");
    button.type = "button";
    button.addEventListener("click", () => { view.reveal(node); mark(); });
    return button;
  }

  function facts(list, label, parts) {
    if (!parts.length) return;
    list.append(make("dt", label));
    for (const part of parts) {
      const line = make("dd");
      line.append(part);
      list.append(line);
    }
  }

  const few = (parts, most = 8) =>
    parts.length > most ? [...parts.slice(0, most), make("span", "and " + (parts.length - most) + " more", "mute")] : parts;

  function showNode(node) {
    const list = make("dl");
    const place = data.places[node.place];
    const code = (text) => make("code", text);
    facts(list, "module", node.module ? [code(node.module)] : []);
    if (place) facts(list, "source", [code(place[0] + ":" + place[1]), ...(place[2] ? [code(place[2])] : [])]);
    facts(list, node.op ? "gives" : "type", few(node.types.map(code)));
    facts(list, "weights", few(node.weights.map(code)));
    facts(list, "takes", few(node.inputs.map((index) => jump(graph.nodes[index]))));
    facts(list, "used by", few([...new Set(node.users)].map((index) => jump(graph.nodes[index]))));
    return [make("h4", node.op || node.name), node.op && node.name ? make("div", node.name, "mute") : "", ...alarms(node), list];
  }

  function alarms(node) {
    const made = node.findings.map((number) => {
      const [, rule, message] = data.findings[number];
      const line = make("a", rule + ": " + message, "alarm");
      line.href = "#finding-" + number;
      return line;
    });
    if (node.diverges) {
      const line = make("a", "the first value that differs from the model's own", "alarm");
      line.href = "#difference";
      made.push(line);
    }
    if (node.kind === KIND.MISSING && !made.length) made.push(make("span", "has no lowering to ONNX", "alarm"));
    return made;
  }

  function showGroup(box) {
    const button = make("button", box.open ? "fold" : "unfold");
    button.type = "button";
    button.addEventListener("click", () => { view.toggle(box); mark(); view.select(box); });
    const line = make("p");
    line.append(button);
    const sick = box.sick ? make("span", box.sick + " with a finding", "alarm") : "";
    return [make("h4", box.title), make("div", box.detail, "mute"), sick, line];
  }

  view.onSelect = (item) => {
    panel.hidden = !item;
    if (!item) return;
    const close = make("button", "×", "close");
    close.type = "button";
    close.setAttribute("aria-label", "close");
    close.addEventListener("click", () => view.select(null));
    panel.replaceChildren(close, ...(item.leaf ? showNode(item) : showGroup(item)));
    panel.scrollTop = 0;
  };

  // ---- from a finding to its node

  for (const link of document.querySelectorAll("[data-finding]")) {
    link.addEventListener("click", () => {
      const number = Number(link.dataset.finding);
      hits = graph.nodes.filter((node) => node.findings.includes(number));
      at = -1;
      step();
      next.hidden = hits.length < 2;
    });
  }

  window.onnxpert = { graph, view, search, step, data };
})();
