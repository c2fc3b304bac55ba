// Sets the chosen theme before anything is drawn. A classic script: modules run too late for that.
(() => {
  let theme = null;
  try { theme = localStorage.getItem("waitcast-theme"); } catch { /* no storage: the system's theme */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
