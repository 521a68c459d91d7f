"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.querySelectorAll("th[aria-sort]")];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      // Names go up first, figures down: the best accuracy is what one looks for.
      const first = column ? "descending" : "ascending";
      const second = column ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      const sign = order === "ascending" ? 1 : -1;
      heads.forEach((other) => other.setAttribute("aria-sort", other === head ? order : "none"));
      const key = (row) => column ? Number(row.cells[column].dataset.value ?? NaN) : row.cells[0].textContent;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (!column) return sign * x.localeCompare(y, "en");
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // a missing figure is always last
        return sign * (x - y);
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}
