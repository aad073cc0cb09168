/** The selection tree of one round: clients by update norm, the split, and who trains again. */

const tree = (() => {
  const LEFT = 46;
  const RIGHT = 10;
  const ROW = 104;
  const GAP = 92;
  const TOP = 30;

  /** @typedef {{client: number, value: number | null, x: number, width: number, hard: boolean}} Bar */

  /**
   * Lay one iteration out: widths are shares of the cohort's data.
   * @param {Run} run @param {Step} step @param {number} width @returns {Bar[]}
   */
  function layOut(run, step, width) {
    const order = step.clients.map((_, i) => i);
    // A split comes sorted; other cohorts come by name and are sorted here.
    if (!step.tau) order.sort((a, b) => (step.values[a] ?? -1) - (step.values[b] ?? -1));
    const weight = (/** @type {number} */ i) => run.federation.sizes[step.clients[i]] ?? 1;
    const total = order.reduce((sum, i) => sum + weight(i), 0);
    let x = 0;
    return order.map((i, rank) => {
      const share = (weight(i) / total) * width;
      x += share;
      const value = step.values[i];
      return {
        client: step.clients[i],
        value,
        x: x - share,
        width: share,
        hard: step.tau > 0 && rank >= step.tau && value != null,
      };
    });
  }

  /** @param {Bar[]} bars @param {number} k bars to the left of the edge */
  function edge(bars, k) {
    const last = bars[Math.min(k, bars.length) - 1];
    return last ? last.x + last.width : 0;
  }

  /**
   * Ribbons from the hard clients of one iteration to their places in the next.
   * @param {Bar[]} from @param {Bar[]} to @param {number} y1 @param {number} y2
   */
  function ribbons(from, to, y1, y2) {
    const place = new Map(to.map((bar) => [bar.client, bar]));
    const middle = (y1 + y2) / 2;
    return from
      .filter(({client}) => place.has(client))
      .map((a) => {
        const b = /** @type {Bar} */ (place.get(a.client));
        const [ax, bx] = [LEFT + a.x, LEFT + b.x];
        return dom.svg("path", {
          class: "ribbon",
          "data-client": a.client,
          d:
            `M${ax},${y1}C${ax},${middle} ${bx},${middle} ${bx},${y2}h${b.width}` +
            `C${bx + b.width},${middle} ${ax + a.width},${middle} ${ax + a.width},${y1}z`,
        });
      });
  }

  /**
   * @param {Run} run @param {Step} step @param {Bar[]} bars @param {number} y foot of the bars
   * @param {number} most the largest value of the round
   */
  function drawBars(run, step, bars, y, most) {
    const height = (/** @type {number | null} */ value) =>
      value == null ? 3 : Math.max(2, (value / (most || 1)) * ROW);
    return bars.flatMap((bar) => {
      const tall = height(bar.value);
      const kind = bar.value == null ? "unknown" : bar.hard ? "hard" : step.tau ? "easy" : "only";
      const rect = dom.svg("rect", {
        class: `client ${kind}`,
        "data-client": bar.client,
        x: LEFT + bar.x + 0.5,
        y: y - tall,
        width: Math.max(0.5, bar.width - 1),
        height: tall,
        rx: Math.min(2, bar.width / 4),
      });
      const id = run.federation.ids[bar.client];
      if (bar.width < 7.2 * id.length + 2) return [rect];
      return [rect, dom.svg("text", {class: "id", x: LEFT + bar.x + bar.width / 2, y: y + 12}, id)];
    });
  }

  /**
   * Quartiles, the range between them and the split.
   * @param {Step} step @param {Bar[]} bars @param {number} y @param {number} width
   */
  function drawSplit(step, bars, y, width) {
    if (!step.tau) return [];
    const [q1, q3, cut] = [edge(bars, step.q1), edge(bars, step.q3), edge(bars, step.tau)].map(
      (x) => LEFT + x,
    );
    const top = y - ROW - 4;
    const line = (/** @type {number} */ x, /** @type {string} */ name) =>
      dom.svg("line", {class: name, x1: x, x2: x, y1: top, y2: y});
    const nearEnd = cut > LEFT + width - 70;
    const marks = [
      dom.svg("rect", {
        class: "range",
        x: q1,
        y: top,
        width: Math.max(0, q3 - q1),
        height: ROW + 4,
      }),
      line(q1, "quartile"),
      line(q3, "quartile"),
      line(cut, "split"),
    ];
    const close = (/** @type {number} */ x) => Math.abs(x - cut) <= 26;
    const mark = (/** @type {number} */ x, /** @type {string} */ text, kind = "") =>
      marks.push(dom.svg("text", {class: `mark ${kind}`, x, y: top - 4}, text));
    if (!close(q1)) mark(q1, "Q1");
    if (!close(q3)) mark(Math.min(q3, LEFT + width - 8), "Q3");
    const shared = [close(q1) && "Q1", close(q3) && "Q3", "split"].filter(Boolean).join(" · ");
    mark(cut, shared, nearEnd ? "cut end" : "cut");
    return marks;
  }

  /** The ends of the scale; none while no value is known. @param {number} y @param {number} most */
  function scale(y, most) {
    if (!most) return [];
    const end = (/** @type {number} */ at, /** @type {string} */ text) =>
      dom.svg("text", {class: "scale", x: LEFT - 6, y: at}, text);
    return [end(y - ROW + 8, numbers.short(most)), end(y, "0")];
  }

  /** @param {number} n @param {string} one @param {string} [many] */
  const counted = (n, one, many = `${one}s`) => `${numbers.whole(n)} ${n === 1 ? one : many}`;

  /** @param {number} n 1 becomes 1st */
  const ordinal = (n) => {
    const last = n % 100 > 10 && n % 100 < 14 ? 0 : n % 10;
    return `${numbers.whole(n)}${["th", "st", "nd", "rd"][last] ?? "th"}`;
  };

  /**
   * The round in words.
   * @param {Run} run @param {number} round @param {Step[]} steps
   */
  function inWords(run, round, steps) {
    if (!steps.length) return `Round ${round + 1}: no client trained.`;
    const opening = `Round ${round + 1}: ${counted(steps[0].clients.length, "client")} drawn`;
    const ended = round < run.done;
    if (!steps.some(({tau}) => tau)) {
      if (!ended) return `${opening}. The round is in progress.`;
      return run.steps.tau.some((tau) => tau)
        ? `${opening}. The round ended without a split.`
        : `${opening}. Each trained once; this method does not split.`;
    }
    const parts = steps.map((step, i) => {
      const known = step.values.filter((value) => value != null).length;
      const hard = known - step.tau;
      if (!step.tau) return ended ? "Then the round ended." : "Then the round is in progress.";
      const range = `${ordinal(Math.max(1, step.q1))} to ${ordinal(step.q3)}`;
      const split = `Split after the ${ordinal(step.tau)} of ${counted(known, "client")} (allowed: ${range})`;
      if (i + 1 < steps.length)
        return `${split}: ${counted(hard, "hard client")} trained again.`;
      return run.eta && hard < run.eta
        ? `${split}: ${counted(hard, "hard client")}, fewer than η = ${run.eta}, so the round ended.`
        : `${split}: ${counted(hard, "hard client")}. The round ended.`;
    });
    return `${opening}. ${parts.join(" ")}`;
  }

  /**
   * @param {HTMLElement} box @param {Run} run @param {number} round
   * @param {(client: number | null) => void} onClient
   */
  function draw(box, run, round, onClient) {
    const steps = model.stepsOf(run, round);
    const width = Math.max(200, box.clientWidth - LEFT - RIGHT);
    const laid = steps.map((step) => layOut(run, step, width));
    const most = Math.max(0, ...steps.flatMap(({values}) => values.map((value) => value ?? 0)));
    const height = TOP + steps.length * ROW + Math.max(0, steps.length - 1) * GAP + 20;
    const foot = (/** @type {number} */ i) => TOP + ROW + i * (ROW + GAP);
    const picture = dom.svg("svg", {
      class: "tree",
      width: width + LEFT + RIGHT,
      height,
      tabindex: "0",
      role: "img",
      "aria-label": inWords(run, round, steps),
    });
    laid.forEach((bars, i) => {
      const [y, step] = [foot(i), steps[i]];
      if (i + 1 < laid.length)
        picture.append(...ribbons(bars, laid[i + 1], y + 18, foot(i + 1) - ROW - 20));
      picture.append(
        dom.svg("line", {class: "ground", x1: LEFT, x2: LEFT + width, y1: y, y2: y}),
        ...scale(y, most),
        dom.svg(
          "text",
          {class: "row", transform: `translate(11,${y - ROW / 2}) rotate(-90)`},
          `iteration ${step.iteration + 1}`,
        ),
        ...drawSplit(step, bars, y, width),
        ...drawBars(run, step, bars, y, most),
      );
    });
    listen(picture, run, laid, onClient);
    box.replaceChildren(picture);
  }

  /** @param {Run} run @param {number} client @param {Bar | undefined} bar */
  function describe(run, client, bar) {
    const {ids, sizes, distances, labels} = run.federation;
    const lines = [dom.html("div", {class: "tip-title"}, `Client ${ids[client]}`)];
    const add = (/** @type {string} */ name, /** @type {string} */ value) =>
      lines.push(
        dom.html("div", {class: "tip-row"}, dom.html("span", {}, name), dom.html("b", {}, value)),
      );
    if (bar) add(run.signal.replace("_", " "), numbers.short(bar.value));
    if (sizes[client] != null) add("examples", numbers.whole(sizes[client]));
    if (labels.length) add("main label", String(labels[client]));
    if (distances.length) add("label skew", numbers.fixed(distances[client]));
    if (bar?.hard) add("cluster", "hard");
    return lines;
  }

  /**
   * Pointer and arrow keys choose a client, which is highlighted in all charts.
   * @param {SVGElement} picture @param {Run} run @param {Bar[][]} laid
   * @param {(client: number | null) => void} onClient
   */
  function listen(picture, run, laid, onClient) {
    let at = {row: 0, rank: -1};
    const choose = (/** @type {number | null} */ client) => {
      for (const part of picture.querySelectorAll("[data-client]"))
        part.classList.toggle(
          "chosen",
          client != null && part.getAttribute("data-client") === String(client),
        );
      onClient(client);
    };
    picture.addEventListener("pointermove", (event) => {
      const target = /** @type {Element} */ (event.target).closest("[data-client]");
      if (!target) {
        choose(null);
        tip.hide();
        return;
      }
      const client = Number(target.getAttribute("data-client"));
      const row = Math.min(
        laid.length - 1,
        Math.max(0, Math.floor((event.offsetY - TOP + GAP / 2) / (ROW + GAP))),
      );
      choose(client);
      tip.show(
        event.clientX,
        event.clientY,
        describe(
          run,
          client,
          laid[row]?.find((bar) => bar.client === client),
        ),
      );
    });
    const leave = () => {
      choose(null);
      tip.hide();
    };
    picture.addEventListener("pointerleave", leave);
    picture.addEventListener("blur", leave);
    picture.addEventListener("keydown", (event) => {
      const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[
        event.key
      ];
      if (!move || !laid.length) return;
      event.preventDefault();
      const row = Math.min(laid.length - 1, Math.max(0, at.row + move[0]));
      at = {row, rank: Math.min(laid[row].length - 1, Math.max(0, at.rank + move[1]))};
      const bar = laid[row][at.rank];
      choose(bar.client);
      const box = picture.getBoundingClientRect();
      tip.show(
        box.left + LEFT + bar.x + bar.width / 2,
        box.top + TOP + row * (ROW + GAP) + ROW / 2,
        describe(run, bar.client, bar),
      );
    });
  }

  return {draw, inWords, describe};
})();
