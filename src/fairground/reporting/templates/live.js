"use strict";
// Keep this page up to date: ask the server whether it has changed, and exchange its contents.
{
  const [PAUSE, PATIENCE] = [2000, 10000];
  const badge = document.createElement("p");
  badge.id = "live";
  badge.setAttribute("role", "status");
  const text = badge.appendChild(document.createElement("span"));
  if (location.pathname !== "/") {
    const back = badge.appendChild(document.createElement("a"));
    back.href = "/";
    back.textContent = "all studies and runs";
  }
  document.body.append(badge);
  const say = (sentence, isTrouble = false) => {
    if (text.textContent !== sentence) text.textContent = sentence;
    badge.classList.toggle("trouble", isTrouble);
  };

  // Counts in a summary change; its words do not.
  const nameOf = (folded) => folded.querySelector("summary").textContent.replace(/\d+/g, "#");
  const sortedBy = (table) => [...table.tHead.rows[0].cells].findIndex((cell) => cell.hasAttribute("aria-sort"));

  // Put in the new contents and do again what the reader did: typed filters, sorted tables, unfolded parts, the place.
  const exchange = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    const inputs = [...document.querySelectorAll("input[id]")].map((input) => ({
      id: input.id, value: input.value, isFocused: input === document.activeElement, at: [input.selectionStart, input.selectionEnd],
    }));
    const folds = new Map([...document.querySelectorAll("details")].map((folded) => [nameOf(folded), folded.open]));
    const tables = [...document.querySelectorAll("table.sortable[id]")].filter((table) => sortedBy(table) >= 0).map((table) => {
      const column = sortedBy(table);
      return { id: table.id, column, order: table.tHead.rows[0].cells[column].getAttribute("aria-sort") };
    });
    const topOf = (element) => element.getBoundingClientRect().top;
    const anchor = [...document.querySelectorAll("main [id]")].find((one) => one.getClientRects().length && topOf(one) >= 0);
    const before = anchor && topOf(anchor);

    for (const part of ["header", "main", "footer"]) {
      document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
    }
    enliven(document.querySelector("main"));
    for (const { id, column, order } of tables) {
      const heading = document.getElementById(id)?.tHead.rows[0].cells[column];
      const button = heading && heading.querySelector("button");
      for (let i = 0; button && i < 2 && heading.getAttribute("aria-sort") !== order; i += 1) button.click();
    }
    for (const { id, value, isFocused, at } of inputs) {
      const input = document.getElementById(id);
      if (!input) continue;
      input.value = value;
      if (value) input.dispatchEvent(new Event("input"));
      if (isFocused) { input.focus({ preventScroll: true }); input.setSelectionRange(...at); }
    }
    for (const folded of document.querySelectorAll("details")) if (folds.has(nameOf(folded))) folded.open = folds.get(nameOf(folded));
    const found = window.scrollY > 0 && anchor && document.getElementById(anchor.id);
    if (found) window.scrollTo({ top: window.scrollY + topOf(found) - before, behavior: "instant" });
  };

  const clock = () => new Date().toLocaleTimeString([], { hour12: false });
  let [version, since] = ["", clock()];
  const ask = async () => {
    const seen = await fetch(location.pathname, { method: "HEAD", cache: "no-store" });
    if (!seen.ok) throw new Error(String(seen.status));
    const found = seen.headers.get("ETag");
    if (version && found !== version) {
      exchange(await (await fetch(location.pathname, { cache: "no-store" })).text());
      since = clock();
    }
    version = found;
    say(`Live · page of ${since}`);
  };
  const go = async () => {
    let pause = PAUSE;
    if (!document.hidden) {
      try { await ask(); } catch { pause = PATIENCE; say(`No answer since ${since}: is fairground watch still running?`, true); }
    }
    setTimeout(go, pause);
  };
  say("Live");
  go();
}
