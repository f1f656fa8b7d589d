// Light or dark: what the person chose here, else what the system says. Runs before the first paint.
(() => {
  const KEY = "switchboard.theme";
  const system = matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  }

  function apply() {
    const theme = chosen() ?? (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    document.getElementById("theme")?.setAttribute("aria-pressed", String(theme === "dark"));
  }

  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem(KEY, next);
      apply();
    });
  });
})();
