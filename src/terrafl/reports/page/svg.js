/** Elements, built without ever parsing text: names of clients and folders stay names. */

const dom = (() => {
  /**
   * @param {Element} element
   * @param {Record<string, any>} attributes
   * @param {(Node | string)[]} children
   */
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, String(value));
    }
    element.append(...children);
  }

  /**
   * @param {string} tag
   * @param {Record<string, any>} [attributes]
   * @param {...(Node | string)} children
   * @returns {HTMLElement}
   */
  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    fill(element, attributes, children);
    return element;
  }

  /**
   * @param {string} tag
   * @param {Record<string, any>} [attributes]
   * @param {...(Node | string)} children
   * @returns {SVGElement}
   */
  function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    fill(element, attributes, children);
    return element;
  }

  /**
   * A labelled choice.
   * @param {string} label
   * @param {{value: string, text: string}[]} options
   * @param {string} chosen
   * @param {(value: string) => void} onchange
   */
  function choice(label, options, chosen, onchange) {
    const select = /** @type {HTMLSelectElement} */ (
      html(
        "select",
        {"aria-label": label, onchange: () => onchange(select.value)},
        ...options.map(({value, text}) =>
          html("option", {value, selected: value === chosen}, text),
        ),
      )
    );
    return html("label", {class: "choice"}, html("span", {}, label), select);
  }

  /**
   * A row of buttons of which one is pressed.
   * @param {string} label
   * @param {{value: string, text: string}[]} options
   * @param {string} chosen
   * @param {(value: string) => void} onchange
   */
  function segments(label, options, chosen, onchange) {
    const buttons = options.map(({value, text}) =>
      html(
        "button",
        {
          type: "button",
          "data-value": value,
          "aria-pressed": value === chosen ? "true" : "false",
          onclick: () => {
            for (const other of buttons)
              other.setAttribute("aria-pressed", other.dataset.value === value ? "true" : "false");
            onchange(value);
          },
        },
        text,
      ),
    );
    return html("div", {class: "segments", role: "group", "aria-label": label}, ...buttons);
  }

  return {html, svg, choice, segments};
})();
