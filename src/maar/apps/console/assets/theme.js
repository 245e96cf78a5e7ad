// Before the first drawing: the theme that was chosen, so that nothing flashes. No module, for modules run late.
"use strict";
{
  const CHOICES = ["auto", "light", "dark"];
  const chosen = () => {
    try {
      return localStorage.getItem("maar-theme") || "auto";
    } catch {
      return "auto"; // a browser that keeps nothing
    }
  };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
  };
  show(chosen());
  document.addEventListener("DOMContentLoaded", () => {
    show(chosen());
    document.getElementById("theme")?.addEventListener("click", () => {
      const next = CHOICES[(CHOICES.indexOf(document.documentElement.dataset.theme) + 1) % CHOICES.length];
      try {
        localStorage.setItem("maar-theme", next);
      } catch {
        // it holds for this page only
      }
      show(next);
    });
  });
}
