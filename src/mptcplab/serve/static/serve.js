// SPDX-License-Identifier: MIT
// The form shows its command while it changes; the experiment's progress and curves arrive as events.
"use strict";

const at = (id) => document.getElementById(id);
const form = at("form");

document.querySelector("#choose select").addEventListener("change", (event) => event.target.form.submit());

// A slider moves in steps that suit its value; untouched, it keeps the example's own.
function rounded(value) {
  const step = value < 1 ? 0.1 : value < 20 ? 0.5 : value < 100 ? 1 : 5;
  return Math.round(Math.round(value / step) * step * 1000) / 1000;
}

for (const slider of form.querySelectorAll("input[type=range]")) {
  slider.addEventListener("input", () => {
    const value = Math.max(Number(slider.min), rounded(Number(slider.value)));
    slider.value = value;
    slider.nextElementSibling.value = `${value} ${slider.dataset.unit}`;
  });
}

let waiting = 0;
let asked = 0;
async function showCommand() {
  const number = ++asked;
  const answer = await fetch(`/command?${new URLSearchParams(new FormData(form))}`);
  const text = await answer.text();
  if (number === asked) {
    at("command").textContent = text;
  }
}
form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(showCommand, 150);
});
// A browser restores the form's values when it goes back.
window.addEventListener("pageshow", () => {
  for (const slider of form.querySelectorAll("input[type=range]")) {
    slider.nextElementSibling.value = `${Number(Number(slider.value).toPrecision(6))} ${slider.dataset.unit}`;
  }
  showCommand();
});

const live = at("live");
let curves = [];

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  if (text !== undefined) {
    element.textContent = text;
  }
  return element;
}

// The step between marks of an axis that ends at `end`: 1, 2 or 5 times a power of ten.
function stepOf(end) {
  const rough = end / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

function draw() {
  const { clientWidth: width, clientHeight: height } = at("curves");
  const [left, right, top, bottom] = [42, width - 12, 26, height - 42];
  const lastTime = Math.max(0.1, ...curves.map((curve) => curve.times[curve.times.length - 1]));
  const highest = Math.max(0.1, ...curves.flatMap((curve) => curve.values));
  const x = (time) => left + (right - left) * time / lastTime;
  const y = (rate) => bottom - (bottom - top) * rate / (1.05 * highest);
  const parts = [];
  for (let rate = 0, step = stepOf(highest); rate <= 1.05 * highest; rate += step) {
    parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: y(rate), y2: y(rate) }));
    parts.push(svg("text", { x: left - 6, y: y(rate) + 4, "text-anchor": "end" }, Number(rate.toPrecision(3))));
  }
  for (let time = 0, step = stepOf(lastTime); time <= lastTime; time += step) {
    parts.push(svg("text", { x: x(time), y: bottom + 18, "text-anchor": "middle" }, Number(time.toPrecision(3))));
  }
  parts.push(svg("text", { x: 0, y: 12 }, "received (Mbit/s)"));
  parts.push(svg("text", { x: right, y: bottom + 36, "text-anchor": "end" }, "time in the lab (s)"));
  const groups = [...new Set(curves.map((curve) => curve.group))];
  for (const curve of curves) {
    let path = "";
    curve.values.forEach((rate, index) => {
      const [from, to] = [x(curve.times[index]), x(curve.times[index + 1])];
      path += `${index ? "L" : "M"}${from.toFixed(1)} ${y(rate).toFixed(1)}H${to.toFixed(1)}`;
    });
    parts.push(svg("path", { class: `curve c${groups.indexOf(curve.group) % 8}`, d: path }));
  }
  at("curves").replaceChildren(...parts);
  at("legend").replaceChildren(...groups.map((group, index) => {
    const entry = document.createElement("span");
    const mark = document.createElement("i");
    mark.className = `c${index % 8}`;
    const count = curves.filter((curve) => curve.group === group).length;
    entry.append(mark, count > 1 ? `${group} (${count} runs)` : group);
    return entry;
  }));
}

window.addEventListener("resize", () => {
  if (curves.length) {
    draw();
  }
});

function showRows(rows) {
  at("rows").hidden = at("meaning").hidden = !rows.length;
  at("rows").tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((text, index) => {
      const cell = document.createElement("td");
      cell.className = index ? "number" : "";
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  }));
}

// The results that the experiment has added to the list.
async function showFolders() {
  const answer = await fetch("/");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  at("folders").replaceWith(page.getElementById("folders"));
}

let wasRunning = false;

function update(state) {
  if (String(state.number) !== live.dataset.number) {
    location.reload(); // another experiment, perhaps started in another window
    return;
  }
  at("progress").max = state.total || 1;
  at("progress").value = state.done;
  at("status").textContent = `${state.status}, ${state.done} of ${state.total} runs`;
  at("lines").textContent = state.lines.join("\n");
  at("lines").scrollTop = at("lines").scrollHeight;
  showRows(state.rows);
  const running = state.status === "running";
  if (wasRunning && !running) {
    showFolders();
  }
  wasRunning = running;
  at("cancel").hidden = !running;
  at("start").disabled = running;
  at("report").hidden = !state.report || running;
  if (state.report) {
    at("report").href = state.report;
  }
  if (state.curves.length) {
    curves = curves.concat(state.curves);
    draw();
  }
}

const source = new EventSource("/events");
// Otherwise the event of the start would reload this page before the answer to the form replaces it.
for (const other of document.forms) {
  other.addEventListener("submit", () => source.close());
}
source.addEventListener("open", () => { curves = []; });
source.addEventListener("message", (event) => update(JSON.parse(event.data)));
source.addEventListener("error", () => {
  if (live.dataset.number !== "0") {
    at("status").textContent = "no connection to the server";
  }
});
