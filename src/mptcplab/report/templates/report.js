// SPDX-License-Identifier: MIT
// Draws the figures of a report when they come into view, sorts tables, and follows light, dark and print.
"use strict";
(() => {
  // Okabe and Ito's colours, which colour-blind readers can distinguish; lighter ones on a dark background.
  const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A7A7A", "#8C6D1F"];
  const DARK = ["#3D9BE0", "#F0782A", "#2BC298", "#E39AC6", "#F2B134", "#9AD8FA", "#B0B0B0", "#C9A94F"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star"];
  const LATE = 1;
  const MAX_LINES = 12;
  const FEW_LINES = 6;
  const SCALES = { linear: "", log: " (logarithmic)", even: " (not to scale)" };
  const PRINT_WIDTH = 680;
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const drawn = new Set();
  let printing = false;

  function loadPlotly() {
    if (window.Plotly) return;
    const script = document.createElement("script");
    script.textContent = document.getElementById("plotly").textContent;
    performance.mark("library");
    document.head.append(script);
  }

  // ---- colours -------------------------------------------------------------------------------------------------

  function colours() {
    const paper = getComputedStyle(document.body).backgroundColor;
    const [r, g, b] = paper.match(/[0-9.]+/g).map(Number);
    return {
      paper,
      ink: getComputedStyle(document.body).color,
      grid: getComputedStyle(document.querySelector(".bar")).borderBottomColor,
      lines: r + g + b < 384 ? DARK : LIGHT,
    };
  }

  function faded(hex, alpha) {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
  }

  // ---- common parts of figures ---------------------------------------------------------------------------------

  // Names come from scenarios; Plotly would interpret tags in them.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function show(value) {
    const size = Math.abs(value);
    return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 0.1 || size === 0 ? 2 : 4);
  }

  // A telephone, where a legend has no room beside its title, or below buttons.
  const isNarrow = (div) => div.clientWidth < 480;

  // A text beside a mark is not longer than the plot is high; all of it is shown under the pointer.
  function shortened(text, div) {
    const letters = Math.max(8, Math.floor((div.clientHeight - 60) / 6));
    return shortenedTo(text, letters);
  }

  function plot(div, traces, layout) {
    const colour = colours();
    const axis = { gridcolor: colour.grid, linecolor: colour.grid, zerolinecolor: colour.grid, automargin: true };
    const narrow = isNarrow(div);
    const full = {
      margin: { l: 56, r: 14, t: 8, b: 44 },
      font: { family: "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif", size: narrow ? 11 : 12.5, color: colour.ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hoverlabel: { bgcolor: colour.paper, bordercolor: colour.grid, font: { color: colour.ink } },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", traceorder: "normal", ...layout.legend },
      modebar: { orientation: "v", bgcolor: "rgba(0,0,0,0)", color: colour.grid, activecolor: colour.ink },
      hovermode: layout.hovermode ?? "closest",
      barmode: "group",
      bargap: 0.55,
      showlegend: traces.filter((trace) => trace.showlegend !== false).length > 1,
      xaxis: { ...axis, ...layout.xaxis, title: { text: plain(layout.x) } },
      yaxis: { ...axis, rangemode: "tozero", ...layout.yaxis, title: { text: plain(layout.y) } },
      shapes: (layout.marks ?? []).map((mark) => ({
        type: "line", x0: mark.t, x1: mark.t, y0: 0, y1: 1, yref: "paper", line: { color: colour.ink, width: 1, dash: "dot" },
      })),
      annotations: (layout.named ? layout.marks ?? [] : []).map((mark) => ({
        x: mark.t, y: 1, yref: "paper", xanchor: "left", yanchor: "top", textangle: 90, showarrow: false,
        text: plain(shortened(mark.text, div)), hovertext: plain(mark.text), font: { size: 10.5 }, bgcolor: colour.paper,
      })),
      ...(printing ? { width: PRINT_WIDTH, height: div.clientHeight } : { autosize: true }),
    };
    const config = {
      displaylogo: false,
      ...(narrow ? { displayModeBar: false } : {}),
      responsive: !printing,
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    };
    loadPlotly();
    Plotly.react(div, traces, full, config);
  }

  // ---- curves over a sweep -------------------------------------------------------------------------------------

  // "10 ms", "20 ms" become 10 and 20, and the unit goes to the axis.
  function ticks(axis) {
    const parts = axis.labels.map((label) => /^([0-9.]+) (\S+)$/.exec(label));
    const units = new Set(parts.map((part) => part && part[2]));
    if (units.size !== 1 || units.has(null)) return { texts: axis.labels, name: axis.name };
    return { texts: parts.map((part) => part[1]), name: `${axis.name}, ${parts[0][2]}` };
  }

  function hoverText(name, label, pair, unit, n) {
    if (pair[0] === null) return "";
    const spread = pair[1] === null ? "" : ` ± ${show(pair[1])}`;
    return plain(`${name ? `${name}: ` : ""}${label}, ${show(pair[0])}${spread} ${unit}${n ? ` (n = ${n})` : ""}`);
  }

  // How far an interval reaches down and up: not beyond what the metric can be.
  function reach([mean, half], [low, high] = [null, null]) {
    if (half === null) return [NaN, NaN];
    return [low === null || mean < low ? half : Math.min(half, mean - low), high === null ? half : Math.min(half, high - mean)];
  }

  function band(places, pairs, colour, group, limits) {
    const known = places.map((x, index) => [x, pairs[index]]).filter(([, pair]) => pair[1] !== null);
    if (known.length < 2) return [];
    const back = known.slice().reverse();
    return [{
      x: [...known, ...back].map(([x]) => x),
      y: [...known.map(([, pair]) => pair[0] + reach(pair, limits)[1]), ...back.map(([, pair]) => pair[0] - reach(pair, limits)[0])],
      fill: "toself", fillcolor: faded(colour, 0.16), line: { width: 0 }, mode: "lines",
      hoverinfo: "skip", showlegend: false, legendgroup: group,
    }];
  }

  // With many lines, bands would hide each other, so only bars are drawn.
  function curve(series, index, axis, unit, withBand, limits) {
    const colour = colours().lines[index % LIGHT.length];
    const order = axis.numbers
      ? axis.numbers.map((_, at) => at).sort((a, b) => axis.numbers[a] - axis.numbers[b])
      : axis.labels.map((_, at) => at);
    const places = order.map((at) => (axis.numbers ? axis.numbers[at] : plain(axis.labels[at])));
    const pairs = order.map((at) => series.measured[at] ?? [null, null]);
    const hidden = index >= MAX_LINES ? "legendonly" : true;
    const common = {
      x: places, name: plain(series.name), legendgroup: `${index}`, visible: hidden, hoverinfo: "text",
      hovertext: order.map((at, i) => hoverText(series.hover ?? series.name, axis.labels[at], pairs[i], unit, series.n?.[at])),
      y: pairs.map((pair) => pair[0]),
      error_y: {
        type: "data", symmetric: false, visible: pairs.some((pair) => pair[1] !== null),
        array: pairs.map((pair) => reach(pair, limits)[1]), arrayminus: pairs.map((pair) => reach(pair, limits)[0]),
        thickness: 1.4, width: 4, color: axis.numbers ? colour : colours().ink,
      },
    };
    const measured = axis.numbers
      ? {
          ...common, type: "scatter", mode: "lines+markers", connectgaps: false,
          line: { color: colour, width: 1.8, dash: DASHES[Math.floor(index / LIGHT.length) % DASHES.length] },
          marker: { color: colour, size: 7, symbol: SYMBOLS[index % SYMBOLS.length] },
        }
      : { ...common, type: "bar", marker: { color: faded(colour, 0.75), line: { color: colour, width: 1 } } };
    const filled = axis.numbers && withBand ? band(places, pairs, colour, `${index}`, limits) : [];
    return [...filled, measured, ...published(series, index, order, places, axis, unit, colour)];
  }

  function published(series, index, order, places, axis, unit, colour) {
    if (!series.published?.some((value) => value !== null)) return [];
    const values = order.map((at) => series.published[at]);
    return [{
      x: places, y: values, type: "scatter", mode: "markers", name: plain(`${series.name} published`), hoverinfo: "text",
      hovertext: order.map((at, i) =>
        values[i] === null ? "" : plain(`${series.name} published: ${axis.labels[at]}, ${show(values[i])} ${unit}`)),
      // An open mark would be invisible on a bar of its own colour.
      marker: axis.numbers
        ? { color: colour, size: 13, symbol: `${SYMBOLS[index % SYMBOLS.length]}-open`, line: { width: 2 } }
        : { color: colours().paper, size: 12, symbol: SYMBOLS[index % SYMBOLS.length], line: { color: colour, width: 2 } },
    }];
  }

  function drawCurves(div, axis, series, y, unit, legendTitle, limits) {
    const { texts, name } = ticks(axis);
    const xaxis = axis.numbers
      ? { type: axis.scale === "log" ? "log" : "linear", tickvals: axis.numbers, ticktext: texts.map(plain) }
      : { type: "category" };
    const many = series.length > FEW_LINES;
    const traces = series.flatMap((one, index) => curve(one, index, axis, unit, !many, limits));
    div.style.height = many ? "34rem" : "";
    const side = isNarrow(div) ? "top" : "left";
    const legend = legendTitle && !many ? { title: { text: plain(`${legendTitle}:`), side } } : {};
    plot(div, traces, { x: name + SCALES[axis.scale], y, xaxis, legend });
  }

  // A selector of the sweep's figure; undefined without one, since there is one axis or one workload only.
  const choice = (section, name) => section.querySelector(`.choices label[data-name="${name}"] select`) ?? undefined;

  function firstChoices(section, drawing) {
    for (const [name, value] of [["Horizontal axis", drawing.along], ["workload", drawing.workload]]) {
      if (choice(section, name)) choice(section, name).value = value;
    }
  }

  // The workload that is shown, undefined for all; the metric; and the rows that have it. A workload that lacks the
  // chosen metric is shown with the one that it is about.
  function chosenRows(section, drawing) {
    const [workloads, metrics] = [choice(section, "workload"), choice(section, "Metric")];
    const one = Number(workloads?.value ?? drawing.workload);
    const rows = drawing.rows.filter(([, workload]) => drawing.workloads[one] === undefined || workload === one);
    const has = (measure) => rows.some(([, , values]) => values[measure][0] !== null);
    for (const option of metrics.options) option.disabled = !has(Number(option.value));
    if (!has(Number(metrics.value))) metrics.value = drawing.about[one] ?? 0;
    const measure = Number(metrics.value);
    // Others lack this metric, as a download the MOS.
    return { workload: drawing.workloads[one], measure, rows: rows.filter(([, , values]) => values[measure][0] !== null) };
  }

  // A line per combination of the axes that are not the horizontal one, except those that follow from the others.
  function drawSweep(section, drawing) {
    const along = Number(choice(section, "Horizontal axis")?.value ?? 0);
    const { workload, measure, rows } = chosenRows(section, drawing);
    const others = drawing.lines[along];
    // Whether all workloads are shown: every line has the name of its own then, also if a single one has the metric.
    const several = drawing.workloads.length > 1 && workload === undefined;
    const lines = new Map();
    for (const [place, at, values, n] of rows) {
      const words = others.map((axis) => drawing.axes[axis].labels[place[axis]]);
      const hover = [...words, ...(drawing.workloads.length > 1 ? [drawing.workloads[at]] : [])].join(", ");
      const name = several ? hover : words.join(", ");
      if (!lines.has(name)) lines.set(name, { name, hover, measured: [], n: [] });
      lines.get(name).measured[place[along]] = values[measure];
      lines.get(name).n[place[along]] = n;
    }
    const { name, unit, limits } = drawing.measures[measure];
    const shown = [...new Set(rows.map(([, at]) => drawing.workloads[at]))];
    const title = [...others.map((at) => drawing.axes[at].name), ...(several ? ["workload"] : [])].join(", ");
    const texts = [
      ...aboutWorkloads(drawing, workload, shown, name), drawing.together[along], ...aboutLines(lines, title)];
    section.querySelector(".chosen").textContent = texts.filter((text) => text).join(" ");
    const y = [drawing.workloads.length > 1 && shown.length === 1 ? `${shown[0]}: ${name}` : name, unit];
    drawCurves(section.querySelector(".figure"), drawing.axes[along], [...lines.values()],
      y.filter((part) => part).join(", "), unit, lines.size > 1 ? title : "", limits);
  }

  function aboutWorkloads(drawing, workload, shown, metric) {
    if (drawing.workloads.length < 2) return [];
    const lacking = workload === undefined ? drawing.workloads.filter((name) => !shown.includes(name)) : [];
    const without = lacking.length ? ` Without it: ${lacking.join(", ")}.` : "";
    return [`Shown: ${metric} of workload${shown.length > 1 ? "s" : ""} ${shown.join(", ")}.${without}`];
  }

  function aboutLines(lines, title) {
    if (lines.size <= FEW_LINES) return [];
    const some = lines.size > MAX_LINES ? `${MAX_LINES} of ${lines.size} lines are shown. ` : "";
    return [`Lines: ${title}. ${some}Click a name to show or hide its line, double-click to show only that line.`];
  }

  function drawLines(section, drawing) {
    const unit = drawing.y.split(", ").pop();
    drawCurves(section.querySelector(".figure"), drawing.axis, drawing.series, drawing.y, unit, "", drawing.limits);
  }

  // ---- one run over time ---------------------------------------------------------------------------------------

  // The point that the selectors name; without one (keys that are swept together), the closest match.
  function chosenPoint(section, drawing, changed) {
    const selects = [...section.querySelectorAll(".choices select")].slice(0, drawing.axes);
    const wanted = selects.map((select) => Number(select.value));
    const agrees = (point) => point.at.filter((at, axis) => at === wanted[axis]).length
      + (changed !== undefined && point.at[changed] === wanted[changed] ? drawing.axes : 0);
    const best = drawing.points.reduce((a, b) => (agrees(b) > agrees(a) ? b : a));
    selects.forEach((select, axis) => { select.value = best.at[axis]; });
    return best;
  }

  function chosenWorkload(section, drawing, point) {
    if (drawing.workloads.length < 2) return point.workloads[0];
    const select = [...section.querySelectorAll(".choices select")].pop();
    const name = drawing.workloads[Number(select.value)];
    return point.workloads.find((one) => one.name === name) ?? point.workloads[0];
  }

  function drawTimeline(section, drawing, changed) {
    const point = chosenPoint(section, drawing, changed);
    const one = chosenWorkload(section, drawing, point);
    const where = [...section.querySelectorAll(".choices label")].map((label) =>
      `${label.dataset.name} ${label.querySelector("select").selectedOptions[0].textContent}, `);
    section.querySelector(".chosen").textContent = `Shown: ${where.join("")}seed ${point.seed} (runs/${point.run}).`;
    for (const div of section.querySelectorAll(".figure")) {
      drawPanel(div, drawing.panels[div.dataset.panel], one, point.marks);
    }
  }

  // The curves of a panel; one that other points have, but not this one, is empty.
  function drawPanel(div, about, chart, marks) {
    const panel = chart.panels[div.dataset.panel] ?? { curves: [] };
    const traces = panel.curves.map((curve) => timeTrace(curve, panel, about.unit));
    const areas = traces.filter((trace) => trace.stackgroup);
    if (areas.length > 1) {
      const total = panel.t.map((_, at) => areas.reduce((sum, area) => sum + area.y[at], 0));
      traces.splice(areas.length, 0, stepTrace("total", panel.t, total, about.unit, { width: panel.twice ? 0.75 : 1.5 }));
    }
    // The capacity may be many times what arrives, which has to be seen.
    const yaxis = panel.end ? { range: [0, panel.end] }
      : panel.log ? { type: "log", rangemode: "normal", range: panel.log.map(Math.log10), dtick: "D2" } : about.zero ? {} : { rangemode: "normal" };
    const named = div === div.parentElement.querySelector(".figure");
    plot(div, traces, { x: "time, s", y: about.label + SCALES[panel.log ? "log" : "linear"], hovermode: "x unified", xaxis: { range: chart.span }, yaxis, marks, named });
  }

  const stepTrace = (name, x, y, unit, line) => ({
    x, y, name: plain(name), type: "scatter", mode: "lines", line: { shape: "hv", color: colours().ink, ...line },
    hovertemplate: `%{y:.2f} ${unit}`,
  });

  // How curves look that are not of one path. Data that arrived on two subflows is in the total twice.
  const LOOKS = {
    goodput: { width: 2.5 }, capacity: { width: 1, dash: "dot" },
    median: { width: 1.8 }, high: { width: 1, dash: "dot" }, limit: { width: 1, dash: "dash" },
  };

  function timeTrace(curve, panel, unit) {
    const colour = colours().lines[curve.colour % LIGHT.length];
    if (curve.role === "area") {
      const area = stepTrace(curve.name, panel.t, curve.v, unit, { color: colour, width: 1 });
      return { ...area, stackgroup: "paths", fillcolor: faded(colour, 0.45) };
    }
    if (LOOKS[curve.role]) {
      const name = curve.role === "goodput" ? `${curve.name} (${panel.twice} % arrived twice)` : curve.name;
      return stepTrace(name, curve.t, curve.v, unit, LOOKS[curve.role]);
    }
    const common = { x: curve.t, y: curve.v, name: plain(curve.name), type: "scatter" };
    if (curve.role === "late") {
      const color = colours().lines[LATE];
      return { ...common, mode: "markers", hovertemplate: "some", marker: { size: 9, symbol: "line-ns-open", color } };
    }
    return {
      ...common, hovertemplate: "%{y}",
      mode: curve.t.length < 40 ? "lines+markers" : "lines",
      marker: { size: 4.5, symbol: SYMBOLS[curve.colour % SYMBOLS.length] },
      line: { color: colour, width: 1.6, dash: DASHES[curve.dashes % DASHES.length] },
    };
  }

  // ---- published against measured ------------------------------------------------------------------------------

  function drawAgreement(section, drawing) {
    const div = section.querySelector(".figure");
    const colour = colours();
    const [low, high] = drawing.range;
    const line = { x: [low, high], type: "scatter", mode: "lines", hoverinfo: "skip" };
    const bands = drawing.tolerances.slice().reverse().map((percent) => {
      const [less, more] = [1 - percent / 100, 1 + percent / 100];
      return {
        x: [low, high, high, low], y: [low * less, high * less, high * more, low * more], name: `± ${percent} %`,
        type: "scatter", mode: "lines", fill: "toself", fillcolor: "rgba(128,128,128,0.2)", line: { width: 0 }, hoverinfo: "skip",
      };
    });
    const identity = { ...line, y: [low, high], name: "as published", line: { color: colour.ink, width: 1 } };
    const traces = drawing.classes.map((one) => {
      const value = (point) => `${show(point[2])}${point[3] === null ? "" : ` ± ${show(point[3])}`}`;
      return {
        x: one.points.map((point) => point[1]), y: one.points.map((point) => point[2]),
        name: plain(`${one.name} (${one.points.length})`), type: "scatter", mode: "markers", hoverinfo: "text",
        hovertext: one.points.map((point) =>
          plain(`${point[0]}: published ${show(point[1])}, measured ${value(point)} (n = ${point[4]}), ${one.name}`)),
        customdata: one.points.map((point) => point[5]),
        marker: { color: one.colour, symbol: one.symbol, size: 10, line: { color: colour.paper, width: 0.8 } },
        error_y: {
          type: "data", symmetric: false, thickness: 1.3, width: 3, color: one.colour,
          array: one.points.map((point) => point[3] ?? 0),
          arrayminus: one.points.map((point) => Math.min(point[3] ?? 0, 0.999 * point[2])),
        },
      };
    });
    const axis = { type: "log", range: [Math.log10(low), Math.log10(high)], rangemode: "normal", dtick: "D2", tickformat: ",~r" };
    plot(div, [...bands, identity, ...traces], { x: "published", y: "measured", xaxis: axis, yaxis: axis });
    openSheetsFrom(div);
  }

  // ---- published against many test beds ------------------------------------------------------------------------

  // A line for each value, with the ratio to the published one in every bed, the median, and the tolerance in grey.
  function drawBeds(section, drawing) {
    const div = section.querySelector(".figure");
    const values = drawing.values;
    div.style.height = `${110 + 17 * values.length}px`;
    const colour = colours();
    const bands = {
      x: values.flatMap((value) => [1 - value.tolerance / 100, 1 + value.tolerance / 100, null]),
      y: values.flatMap((_, at) => [at, at, null]),
      name: "tolerance", type: "scatter", mode: "lines", line: { color: "rgba(128,128,128,0.3)", width: 11 }, hoverinfo: "skip",
    };
    const traces = drawing.classes.flatMap((one, index) => {
      const own = values.map((value, at) => [value, at]).filter(([value]) => value.class === index);
      const texts = ([value], ratio) => plain(`${value.name}: ${show(ratio)} times the published value; ${value.text}`);
      const common = { name: plain(`${one.name} (${own.length})`), type: "scatter", mode: "markers", hoverinfo: "text" };
      return own.length === 0 ? [] : [
        {
          ...common, x: own.flatMap(([value]) => value.ratios), y: own.flatMap(([value, at]) => value.ratios.map(() => at)),
          hovertext: own.flatMap((line) => line[0].ratios.map((ratio) => texts(line, ratio))),
          customdata: own.flatMap(([value]) => value.ratios.map(() => value.anchor)),
          marker: { color: faded(one.colour, 0.45), size: 6 }, showlegend: false,
        },
        {
          ...common, x: own.map(([value]) => value.median), y: own.map(([, at]) => at),
          hovertext: own.map((line) => texts(line, line[0].median)), customdata: own.map(([value]) => value.anchor),
          marker: { color: one.colour, symbol: "line-ns", size: 12, line: { color: one.colour, width: 2.5 } },
        },
      ];
    });
    plot(div, [bands, ...traces], {
      x: "measured / published", y: "",
      xaxis: { type: "log", rangemode: "normal", dtick: "D2", tickformat: ",~r" },
      yaxis: {
        rangemode: "normal", range: [values.length - 0.4, -0.6], showgrid: false, zeroline: false,
        tickvals: values.map((_, at) => at), ticktext: values.map((value) => plain(shortenedTo(value.name, isNarrow(div) ? 18 : 48))),
        tickfont: { size: 10.5 },
      },
    });
    openSheetsFrom(div);
  }

  const shortenedTo = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

  function openSheetsFrom(div) {
    div.removeAllListeners?.("plotly_click");
    div.on("plotly_click", (event) => {
      const anchor = event.points[0]?.customdata;
      if (anchor) location.hash = anchor;
    });
  }

  // A sheet is closed until a link leads to it.
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches("details.sheet")) {
      target.open = true;
      target.scrollIntoView();
    }
  }
  addEventListener("hashchange", openTarget);
  addEventListener("load", openTarget);

  // ---- when to draw --------------------------------------------------------------------------------------------

  const DRAW = { sweep: drawSweep, lines: drawLines, timeline: drawTimeline, agreement: drawAgreement, beds: drawBeds };

  function draw(section, changed) {
    const { experiment, drawing, kind } = section.dataset;
    drawn.add(section);
    DRAW[kind](section, data[experiment][drawing], changed);
  }

  const sections = [...document.querySelectorAll(".drawing")];
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const section = entry.target.closest(".drawing");
      if (entry.isIntersecting && !drawn.has(section)) draw(section);
    }
  }, { rootMargin: "150px" });

  for (const section of sections) {
    const { experiment, drawing, kind } = section.dataset;
    const selects = [...section.querySelectorAll(".choices select")];
    if (kind === "sweep") firstChoices(section, data[experiment][drawing]);
    selects.forEach((select, at) => select.addEventListener("change", () => draw(section, at)));
    section.querySelectorAll(".figure").forEach((div) => observer.observe(div));
  }

  // The library takes some tenths of a second to start: load it while the page is being read, not before it is shown.
  if (sections.length) addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(loadPlotly));

  function redraw() {
    for (const section of drawn) draw(section);
  }

  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value) root.dataset.theme = theme.value; else delete root.dataset.theme;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // In print, all figures are drawn, in light colours, and all details are open.
  let opened = [];
  addEventListener("beforeprint", () => {
    printing = true;
    root.dataset.printing = "";
    opened = [...document.querySelectorAll("details:not([open]):not(.runs):not(.sheet)")];
    opened.forEach((one) => { one.open = true; });
    sections.forEach((section) => draw(section));
  });
  addEventListener("afterprint", () => {
    printing = false;
    delete root.dataset.printing;
    opened.forEach((one) => { one.open = false; });
    redraw();
  });

  // ---- tables --------------------------------------------------------------------------------------------------

  const FACTORS = {
    ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
    "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, "%": 1e-2, ppm: 1e-6, ppb: 1e-9,
  };

  // A measured value is more exact than its text.
  function sortKey(cell) {
    if (cell.dataset.number !== undefined) return Number(cell.dataset.number);
    const text = cell.textContent;
    const found = /^([+-]?[0-9.]+)(?:\s+(\S+))?/.exec(text);
    return found ? Number(found[1]) * (FACTORS[found[2]] ?? 1) : null;
  }

  function compare(left, right) {
    const [a, b] = [sortKey(left), sortKey(right)];
    if (a !== null && b !== null) return a - b;
    return left.textContent.localeCompare(right.textContent);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const sort = (head, column) => {
      const next = { ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
      const order = next === undefined ? "ascending" : next;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      const sign = order === "descending" ? -1 : 1;
      const cell = (row) => row.cells[column];
      body.append(...(order ? original.slice().sort((a, b) => sign * compare(cell(a), cell(b))) : original));
      if (order) head.setAttribute("aria-sort", order);
    };
    heads.forEach((head, column) => {
      const button = head.querySelector("[role=button]");
      button.addEventListener("click", () => sort(head, column));
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort(head, column);
      });
    });
  }
})();
