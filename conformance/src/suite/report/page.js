"use strict";
// The address contains the filters, so that they can be linked: `#failed`, `#skipped&L2`, `#text=zstd`.
const form = document.getElementById("filters");
const verdicts = [...form.querySelectorAll("[name=verdict]")];
const text = document.getElementById("text");
const level = document.getElementById("level");
const rows = [...document.querySelectorAll("tr[data-verdict]")];
const subjects = [...document.querySelectorAll("[data-subject]")];

function apply() {
  const wanted = new Set(verdicts.filter((box) => box.checked).map((box) => box.value));
  const words = text.value.toLowerCase();
  let count = 0;
  for (const subject of subjects) {
    const isNamed = subject.dataset.subject.toLowerCase().includes(words);
    let shown = 0;
    for (const row of subject.querySelectorAll("tr[data-verdict]")) {
      const fits = wanted.has(row.dataset.verdict) && (level.value === "" || row.dataset.level === level.value)
        && (isNamed || row.textContent.toLowerCase().includes(words));
      row.classList.toggle("left-out", !fits);
      shown += fits ? 1 : 0;
    }
    subject.classList.toggle("left-out", shown === 0);
    count += shown;
  }
  document.getElementById("count").textContent = `${count} of ${rows.length} rules`;
}

function fromAddress() {
  const address = decodeURIComponent(location.hash.slice(1));
  if (address !== "" && document.getElementById(address)) {
    return;
  }
  const parts = new URLSearchParams(address);
  const some = verdicts.some((box) => parts.has(box.value));
  for (const box of verdicts) {
    box.checked = !some || parts.has(box.value);
  }
  text.value = parts.get("text") ?? "";
  level.value = [...level.options].map((option) => option.value).find((value) => parts.has(value)) ?? "";
  apply();
}

function toAddress() {
  const checked = verdicts.filter((box) => box.checked).map((box) => box.value);
  const parts = checked.length === verdicts.length ? [] : checked;
  if (level.value !== "") {
    parts.push(level.value);
  }
  if (text.value !== "") {
    parts.push(`text=${encodeURIComponent(text.value)}`);
  }
  const hash = parts.length === 0 ? location.pathname + location.search : `#${parts.join("&")}`;
  history.replaceState(null, "", hash);
}

form.addEventListener("input", () => { apply(); toAddress(); });
form.addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", fromAddress);
form.hidden = false;
apply();
fromAddress();
