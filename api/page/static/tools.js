// The theme, and the token.
import { token } from "./api.js";

const order = ["system", "light", "dark"];

// setUpTheme lets a button go through the themes; drawn is called when the colors are other ones.
export function setUpTheme(button, drawn) {
  const root = document.documentElement;
  const now = () => root.dataset.theme ?? "system";
  const names = { system: "Auto", light: "Light", dark: "Dark" };
  const label = () => { button.textContent = names[now()]; button.setAttribute("aria-label", `Theme: ${names[now()]}`); };
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(now()) + 1) % order.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try { localStorage.setItem("waitcast-theme", next); } catch { /* it lasts as long as the page */ }
    label();
    drawn();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawn);
  label();
}

// setUpDialog lets the reader paste a token; changed is called when it is another one.
export function setUpDialog(button, dialog, changed) {
  const input = dialog.querySelector("input");
  const label = () => { button.textContent = token.get() ? "Token: set" : "Token"; };
  button.addEventListener("click", () => { input.value = token.get(); dialog.showModal(); });
  dialog.addEventListener("close", () => {
    const before = token.get();
    if (dialog.returnValue === "save") token.set(input.value.trim());
    if (dialog.returnValue === "forget") token.set("");
    input.value = "";
    label();
    if (token.get() !== before) changed();
  });
  label();
}
