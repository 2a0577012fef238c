const search = document.querySelector("#search"), found = document.querySelector("#found");
const articles = [...document.querySelectorAll("article")];
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  let count = 0;
  for (const each of articles) {
    each.hidden = wanted !== "" && !each.textContent.toLowerCase().includes(wanted);
    count += !each.hidden;
  }
  found.textContent = wanted ? `${count} of ${articles.length}` : "";
});
document.querySelector("#theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
