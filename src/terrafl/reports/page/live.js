/** The live page: news from the server, drawn at most a few times a second. */

const live = (() => {
  const PAUSE_MS = 250;

  /**
   * Put fresh tables in the place of old ones; charts stay unless the groups have changed.
   * @param {string} text HTML of this server, in which every name is escaped
   * @param {() => void} rebuild
   */
  function replaceSections(text, rebuild) {
    const fresh = new DOMParser()
      .parseFromString(`<main>${text}</main>`, "text/html")
      .querySelector("main");
    const content = document.getElementById("content");
    if (!fresh || !content) return;
    const shape = (/** @type {Element} */ root) =>
      JSON.stringify(
        [...root.querySelectorAll("[data-group]")].map((s) => [
          s.id,
          s.querySelectorAll("[data-chart]").length,
          s.querySelector("h2")?.textContent,
        ]),
      );
    if (shape(fresh) !== shape(content)) {
      content.replaceChildren(...fresh.childNodes);
      rebuild();
      return;
    }
    for (const section of fresh.querySelectorAll("[data-group]"))
      for (const part of section.querySelectorAll("[data-part]")) {
        const old = document
          .getElementById(section.id)
          ?.querySelector(`[data-part="${part.getAttribute("data-part")}"]`);
        if (!old || old.innerHTML === part.innerHTML) continue;
        const open = old.querySelector("details")?.open;
        old.replaceChildren(...part.childNodes);
        if (open) old.querySelector("details")?.setAttribute("open", "");
      }
  }

  function drawWatched() {
    const box = document.getElementById("watched");
    if (!box) return;
    const runs = [...model.state.runs.values()].sort((a, b) => a.name.localeCompare(b.name));
    const unreadable = model.state.unreadable.map(([name, reason]) =>
      dom.html(
        "div",
        {class: "run unreadable"},
        dom.html("span", {class: "run-name", title: name}, name),
        dom.html("span", {class: "reason"}, reason),
        dom.html("span", {class: "status"}, "unreadable"),
      ),
    );
    box.hidden = false;
    box.replaceChildren(
      ...(runs.length || unreadable.length
        ? runs.map((run) => {
            const score = run.curve.accuracy[run.curve.accuracy.length - 1];
            const {name, is_percent: percent} = run.metric;
            const shown = score == null ? "–" : numbers.score(score, percent);
            return dom.html(
              "div",
              {class: `run ${run.status}`},
              dom.html("span", {class: "run-name", title: run.name}, run.name),
              dom.html("progress", {
                max: run.planned || 1,
                value: run.done,
                "aria-label": `Rounds of ${run.name}`,
              }),
              dom.html(
                "span",
                {},
                `${numbers.whole(run.done)} of ${numbers.whole(run.planned)} rounds`,
              ),
              dom.html("b", {}, percent ? `${shown} %` : `${name} ${shown}`),
              dom.html("span", {class: "status"}, run.status),
            );
          })
        : [
            dom.html("p", {class: "note"}, "No run yet: this page shows one as soon as it starts."),
          ]),
      ...unreadable,
    );
  }

  /** @param {{rebuild: () => void, update: () => void}} charts */
  function start(charts) {
    let waiting = 0;
    let pause = PAUSE_MS;
    const soon = () => {
      waiting ||= setTimeout(() => {
        waiting = 0;
        const started = performance.now();
        drawWatched();
        charts.update();
        // A page with a lot to draw draws less often, and stays responsive.
        pause = Math.max(PAUSE_MS, 4 * (performance.now() - started));
      }, pause);
    };
    const source = new EventSource("events");
    const badge = dom.html("span", {id: "link", role: "status"}, "connecting");
    document.querySelector("header.top h1")?.append(" ", badge);
    const say = (/** @type {string} */ word) => {
      badge.textContent = word;
      badge.className = word;
    };
    source.addEventListener("open", () => say("live"));
    source.addEventListener("error", () => say("away"));
    source.addEventListener("start", () => {
      model.state.runs.clear();
      soon();
    });
    source.addEventListener("run", (event) => {
      model.merge(JSON.parse(event.data));
      soon();
    });
    source.addEventListener("gone", (event) => {
      model.state.runs.delete(JSON.parse(event.data));
      soon();
    });
    source.addEventListener("sections", (event) => {
      const news = JSON.parse(event.data);
      const changed =
        JSON.stringify(model.state.groups.map((g) => g.methods)) !==
        JSON.stringify(news.groups.map((/** @type {Group} */ g) => g.methods));
      model.state.unreadable = news.unreadable;
      model.state.groups = news.groups.map((/** @type {Group} */ group) =>
        Object.assign(model.state.groups.find(({slug}) => slug === group.slug) ?? {}, group),
      );
      for (const [id, group, method] of news.places) {
        const run = model.state.runs.get(id);
        if (run) Object.assign(run, {group, method});
      }
      replaceSections(news.html, charts.rebuild);
      if (changed) charts.rebuild();
      soon();
    });
    drawWatched();
  }

  return {start};
})();
