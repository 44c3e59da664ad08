// Sort a table by the column whose heading is pressed; pressed again, the other way round. Empty cells stay last.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
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
