"use strict";
// Keep this page up to date: ask the server whether it has changed, and exchange the parts that have.
{
  const { page, kind } = document.currentScript.dataset;
  let { version } = document.currentScript.dataset;
  const PAUSE = 2000;
  const PATIENCE = 10000;

  const badge = document.createElement("p");
  badge.id = "live";
  badge.setAttribute("role", "status");
  const said = badge.appendChild(document.createElement("span"));
  if (page !== "overview") {
    const back = badge.appendChild(document.createElement("a"));
    back.href = "/";
    back.textContent = "all studies and runs";
  }
  document.body.append(badge);
  const say = (words, isTrouble) => {
    if (said.textContent !== words) said.textContent = words;
    badge.classList.toggle("trouble", isTrouble);
  };

  const partsOf = (tree) => new Map(
    [...tree.querySelectorAll("header, main > *, footer")].map((part) => [part.id || `${part.tagName}.${part.className}`, part])
  );
  const textsOf = (parts) => new Map([...parts].map(([key, part]) => [key, part.outerHTML]));
  // As the server sent them: a reader may have sorted or filtered what is shown by now.
  let sent = textsOf(partsOf(document));

  const nameOf = (folded) => folded.querySelector("summary").textContent.replace(/\d+/g, "#");
  const sorting = (table) => [...table.tHead.rows[0].cells].findIndex((cell) => cell.hasAttribute("aria-sort"));

  // What a reader did to a part, as a function that does it again to the part's successor.
  const remembered = (part) => {
    const inputs = [...part.querySelectorAll("input[id]")].map((input) => ({
      id: input.id, value: input.value, isFocused: input === document.activeElement, at: [input.selectionStart, input.selectionEnd],
    }));
    const folds = new Map([...part.querySelectorAll("details")].map((folded) => [nameOf(folded), folded.open]));
    const tables = [...part.querySelectorAll("table.sortable[id]")].map((table) => {
      const column = sorting(table);
      return { id: table.id, column, order: column < 0 ? null : table.tHead.rows[0].cells[column].getAttribute("aria-sort") };
    });
    const scrolled = [...part.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    return (next) => {
      for (const { id, column, order } of tables) {
        const heading = order && document.getElementById(id)?.tHead.rows[0].cells[column];
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
      for (const folded of next.querySelectorAll("details")) if (folds.has(nameOf(folded))) folded.open = folds.get(nameOf(folded));
      next.querySelectorAll(".scroll").forEach((box, i) => { box.scrollLeft = scrolled[i] || 0; });
    };
  };

  // What the reader looks at, the field they are in or else the first thing with a name, and a way to put it back in its
  // place when what is above it has grown.
  const held = () => {
    const topOf = (element) => element.getBoundingClientRect().top;
    const isSeen = (element) => element.id && element.getClientRects().length && topOf(element) >= 0 && topOf(element) < window.innerHeight;
    const anchor = [document.activeElement, ...document.querySelectorAll("main [id]")].find(isSeen);
    const part = [...partsOf(document)].find(([, each]) => each.getBoundingClientRect().bottom > 0);
    const again = anchor ? () => document.getElementById(anchor.id) : () => part && partsOf(document).get(part[0]);
    const before = anchor ? topOf(anchor) : part && topOf(part[1]);
    return () => {
      const found = window.scrollY > 0 && again();
      if (found) window.scrollTo({ top: window.scrollY + topOf(found) - before, behavior: "instant" });
    };
  };

  const exchange = (text) => {
    const [now, next] = [partsOf(document), partsOf(new DOMParser().parseFromString(text, "text/html"))];
    const texts = textsOf(next);
    const putBack = held();
    const fresh = new Map();
    for (const [key, part] of next) {
      if (now.has(key) && sent.get(key) === texts.get(key)) next.set(key, now.get(key));
      else fresh.set(key, [now.has(key) ? remembered(now.get(key)) : () => {}, document.adoptNode(part)]);
    }
    if ([...now.keys()].join() === [...next.keys()].join()) {
      for (const [key, [, part]] of fresh) now.get(key).replaceWith(part);
    } else {
      const main = document.querySelector("main");
      main.replaceChildren(...[...next].filter(([key]) => !/^(HEADER|FOOTER)/.test(key)).map(([, part]) => part));
      for (const [key, [, part]] of fresh) if (/^(HEADER|FOOTER)/.test(key)) now.get(key).replaceWith(part);
    }
    for (const [again, part] of fresh.values()) { enliven(part); again(part); }
    sent = texts;
    putBack();
  };

  const clock = () => new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  let since = clock();
  const ask = async () => {
    const answer = await fetch(`/state.json?page=${encodeURIComponent(page)}`, { cache: "no-store" });
    if (answer.status === 403) { say("The server has another token now: open the address it printed.", true); return Infinity; }
    if (!answer.ok) throw new Error(String(answer.status));
    const state = await answer.json();
    if (state.version && state.version !== version) {
      const sentPage = await fetch(location.pathname, { cache: "no-store" });
      if (!sentPage.ok) throw new Error(String(sentPage.status));
      if (state.kind !== kind) { location.reload(); return Infinity; }
      exchange(await sentPage.text());
      version = sentPage.headers.get("ETag").replace(/"/g, "");
      since = clock();
    }
    const working = state.in_progress ? `${state.in_progress} run${state.in_progress === 1 ? "" : "s"} under way` : "nothing under way";
    const made = page !== "overview" && state.is_being_built ? "being redrawn" : `page of ${since}`;
    say(state.trouble && !state.is_being_built ? `Not redrawn: ${state.trouble}` : `Live · ${working} · ${made}`, Boolean(state.trouble));
    return PAUSE;
  };

  let timer;
  let isAsking = false;
  const go = async () => {
    if (isAsking) return;
    isAsking = true;
    clearTimeout(timer);
    let pause = PAUSE;
    if (!document.hidden) {
      try { pause = await ask(); } catch { pause = PATIENCE; say(`No answer since ${since}: is fairground watch still running?`, true); }
    }
    isAsking = false;
    if (pause < Infinity) timer = setTimeout(go, pause);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) go(); });
  say("Live", false);
  go();
}
