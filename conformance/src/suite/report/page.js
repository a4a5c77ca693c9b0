"use strict";
const form = document.getElementById("filters");
const rows = [...document.querySelectorAll("tr[data-verdict]")];
function apply() {
  const text = document.getElementById("text").value.toLowerCase();
  const level = document.getElementById("level").value;
  const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map((box) => box.value));
  let shown = 0;
  for (const row of rows) {
    const fits = verdicts.has(row.dataset.verdict) && (level === "" || row.dataset.level === level)
      && row.textContent.toLowerCase().includes(text);
    row.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  document.getElementById("count").textContent = `${shown} of ${rows.length} rules`;
}
form.addEventListener("input", apply);
form.addEventListener("submit", (event) => event.preventDefault());
apply();
