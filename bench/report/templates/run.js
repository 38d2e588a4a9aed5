// Two comforts; the page reads the same without them.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent || head.textContent === "Make-up") return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent.trim();
      const order = (a, b) => text(a).localeCompare(text(b), "en", { numeric: true });
      body.append(...[...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
    });
  });
}

const find = document.querySelector(".find");
if (find) {
  const places = find.closest(".places");
  const [select, output] = [find.querySelector("select"), find.querySelector("output")];
  const marks = [...places.querySelectorAll("[data-machine]")];
  const show = (machine) => {
    places.querySelectorAll(".found").forEach((mark) => mark.classList.remove("found"));
    const same = marks.filter((mark) => mark.dataset.machine === machine);
    same.forEach((mark) => mark.classList.add("found"));
    output.textContent = same.length ? same[0].querySelector("title").textContent : "";
    select.value = machine;
  };
  const names = [...new Set(marks.map((mark) => mark.dataset.machine))];
  select.append(...["", ...names].map((name) => new Option(name, name)));
  select.addEventListener("change", () => show(select.value));
  places.addEventListener("pointerover", ({ target }) => {
    const mark = target.closest("[data-machine]");
    if (mark) show(mark.dataset.machine);
  });
  find.hidden = false;
}
