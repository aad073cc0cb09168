/** Where it all starts. */

const charts = (() => {
  /** @type {{section: Element, parts: {rebuild(): void, update(): void, resize(): void}[]}[]} */
  let built = [];

  /** Draw a group when it comes near the window: a report may hold many. */
  const near = new IntersectionObserver(
    (entries) => {
      for (const {isIntersecting, target} of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        build(target);
      }
    },
    {rootMargin: "600px"},
  );

  /** @param {Element} section */
  function build(section) {
    const group = model.state.groups.find(({slug}) => slug === section.id);
    if (!group) return;
    const at = (/** @type {string} */ name) =>
      /** @type {HTMLElement | null} */ (section.querySelector(`[data-chart="${name}"]`));
    const parts = [];
    const [curveBox, treeBox, heatBox, fairBox] = ["curves", "tree", "heat", "fairness"].map(at);
    if (curveBox) parts.push(curves.create(curveBox, group));
    if (treeBox && heatBox) parts.push(explorer.create(treeBox, heatBox, group));
    if (fairBox) parts.push(fairness.create(fairBox, group));
    built.push({section, parts});
  }

  function rebuild() {
    built = [];
    near.disconnect();
    for (const section of document.querySelectorAll("[data-group]")) near.observe(section);
  }

  const each = (/** @type {"rebuild" | "update" | "resize"} */ what) => {
    for (const {parts} of built) for (const part of parts) part[what]();
  };

  return {
    rebuild,
    update: () => each("update"),
    redraw: () => each("rebuild"),
    resize: () => each("resize"),
  };
})();

async function main() {
  theme.start();
  theme.onChange(charts.redraw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return; // a phone's address bar comes and goes
    width = innerWidth;
    charts.resize();
  });
  const data = document.getElementById("data");
  if (data) {
    await model.unpack(data.textContent ?? "");
    charts.rebuild();
  } else {
    model.state.live = true;
    live.start(charts);
  }
  Object.assign(window, {terrafl: {state: model.state, bands, cells, model}});
}

main();
