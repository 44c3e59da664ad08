"use strict";
const tip = document.getElementById("tip");
const thumbnail = tip.insertBefore(document.createElement("img"), tip.firstChild);
thumbnail.alt = "";

// Make the tables and maps within `root` answer; whoever exchanges a part of the page calls it for the new part.
const enliven = (root) => {
  // Sort a table by the column whose heading is pressed; pressed again, the other way round. Empty cells stay last.
  for (const table of root.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = heading.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const isNumber = heading.dataset.kind === "number";
        const current = heading.getAttribute("aria-sort");
        const ascending = current ? current !== "ascending" : !isNumber;
        const value = (row) => row.cells[column].dataset.value;
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          const order = isNumber ? Number(x) - Number(y) : x.localeCompare(y);
          return ascending ? order : -order;
        });
        table.tBodies[0].append(...rows);
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      });
    });
  }

  // Show only the rows whose method holds every word typed.
  for (const input of root.querySelectorAll("input[data-filters]")) {
    const rows = [...document.getElementById(input.dataset.filters).tBodies[0].rows];
    const said = input.parentElement.querySelector("output");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const name = row.cells[0].textContent.toLowerCase();
        row.hidden = !words.every((word) => name.includes(word));
        shown += !row.hidden;
      }
      said.textContent = words.length ? `${shown} of ${rows.length} ${input.dataset.what || "methods"}` : "";
    });
  }

  // On a map, tell a point's class, light up its class mates, and show its picture if the gallery has it.
  for (const map of root.querySelectorAll("svg.points")) {
    const points = [...map.querySelectorAll("circle")];
    const names = new Map([...map.parentElement.querySelectorAll(".names li")].map((li) => [li.dataset.c, li.textContent]));
    let current = -1;
    const pictures = () => {
      const gallery = [...document.querySelectorAll("[data-gallery]")].find((one) => one.dataset.gallery === map.dataset.run);
      return gallery ? [...gallery.querySelectorAll("img[data-r]")] : [];
    };
    const leave = () => {
      tip.hidden = true;
      map.classList.remove("asked");
      points.forEach((point) => point.classList.remove("mate", "here"));
    };
    const show = (point) => {
      leave();
      current = points.indexOf(point);
      map.classList.add("asked");
      points.forEach((other) => other.classList.toggle("mate", other.dataset.c === point.dataset.c));
      point.classList.add("here");
      const picture = pictures().find((image) => image.dataset.r === point.dataset.r);
      const words = tip.querySelector("span");
      thumbnail.hidden = !picture;
      if (picture) thumbnail.src = picture.src;
      const mates = points.filter((other) => other.dataset.c === point.dataset.c).length;
      words.textContent = `${names.get(point.dataset.c) || "class " + point.dataset.c} (${mates} here)`;
      tip.hidden = false;
      const [at, box] = [point.getBoundingClientRect(), tip.getBoundingClientRect()];
      const left = Math.min(at.left + 14, document.documentElement.clientWidth - box.width - 8);
      const top = at.top - box.height - 8 < 0 ? at.bottom + 8 : at.top - box.height - 8;
      tip.style.left = `${Math.max(8, left)}px`;
      tip.style.top = `${top}px`;
    };
    map.addEventListener("pointerover", (event) => { if (event.target.matches("circle")) show(event.target); });
    map.addEventListener("click", (event) => { if (event.target.matches("circle")) show(event.target); });
    map.addEventListener("pointerleave", leave);
    map.addEventListener("blur", leave);
    map.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") leave();
      if (!step) return;
      event.preventDefault();
      show(points[(current + step + points.length) % points.length]);
    });
  }
};
enliven(document);
