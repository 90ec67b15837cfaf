"""A browser without a window, and what tests ask of any page."""

import os
import pathlib
import shutil
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.chrome.service import Service

# A busy machine takes long.
PATIENCE = 120.0

# Elements that people operate and that have no name for a screen reader.
NAMELESS = """
return [...document.querySelectorAll("button, a[href], input, select, textarea, [role=button], [role=listbox], [tabindex='0']")]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.labels?.length || e.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 200));
"""

# Visible texts whose contrast is below what WCAG 2.1 demands (AA: 4.5 for text of this size).
FAINT = """
const channels = (colour) => { const m = colour.match(/[\\d.]+/g).map(Number); return [m[0], m[1], m[2], m[3] ?? 1]; };
const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
const back = (e) => {
  const layers = [];
  for (let at = e; at; at = at.parentElement) {
    const c = channels(getComputedStyle(at).backgroundColor);
    layers.push(c);
    if (c[3] === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
};
const found = new Set();
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest("svg") || !e.checkVisibility() || e.disabled || e.closest(":disabled, .skip, option")) continue;
  const style = getComputedStyle(e), below = back(e), text = over(channels(style.color), below);
  const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) found.add(`${e.tagName}.${e.className} ${style.color} on ${below.map(Math.round)}: ${ratio.toFixed(2)} "${e.textContent.trim().slice(0, 30)}"`);
}
return [...found];
"""


class Browser:
    """Chromium; use it with `with`."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hopwright-browser-")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        # The tests run as root, in which there is no sandbox.
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1440,1000",
                         "--hide-scrollbars", "--no-first-run", "--disable-background-networking", f"--user-data-dir={self.folder.name}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.folder.cleanup()

    def open(self, url, scheme="light"):
        """Opens a page in light or dark."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        # A change of the fragment alone would load nothing.
        self.driver.get("about:blank")
        self.problems()
        self.driver.get(url)

    def wait(self, condition, what):
        """Waits until something is true, and returns it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if found := condition():
                    return found
            except StaleElementReferenceException:
                pass
            if time.monotonic() > deadline:
                self.picture("failed")
                raise AssertionError(f"{what}:\n{self.text('body')}")
            time.sleep(0.1)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(lambda: next((e for e in self.all(selector) if e.is_displayed()), None), f"`{selector}` is not there")

    def text(self, selector, at=0):
        """The text of an element, which the page may make anew at any moment; nothing, if there is none."""
        while True:
            try:
                found = self.all(selector)
                return found[at].text if len(found) > at else ""
            except StaleElementReferenceException:
                continue

    def wait_text(self, selector, part):
        return self.wait(lambda: part in self.text(selector) and self.text(selector), f"`{selector}` has no `{part}`")

    def click(self, selector, text=""):
        """Clicks the first element that is shown and contains a text.

        The page may move it meanwhile, so that another one is clicked: a button to be pressed is clicked until it is."""
        def clicked():
            for element in self.all(selector):
                if text in (element.text or element.accessible_name) and element.is_displayed() and element.is_enabled():
                    self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
                    to_press = element.get_attribute("aria-pressed") == "false"
                    element.click()
                    return not to_press or element.get_attribute("aria-pressed") == "true"
            return False
        self.wait(clicked, f"`{selector}` with `{text}` cannot be clicked")

    def fill(self, name, value):
        """Fills the field with this label, or the first one whose label contains it."""
        def field():
            fields = [(e.accessible_name, e) for e in self.all("input, textarea") if e.is_displayed() and e.is_enabled()]
            return next((e for label, e in fields if label == name), None) or next((e for label, e in fields if name in label), None)
        element = self.wait(field, f"there is no field `{name}`")
        element.clear()
        element.send_keys(value)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def problems(self):
        """What the browser complains about, but for refusals by the API, which tests provoke."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")
                and not ("/api/" in e["message"] and "status of 4" in e["message"])]

    def check(self):
        """Names for screen readers, contrast, no complaints."""
        assert self.script(NAMELESS) == []
        assert self.script(FAINT) == []
        assert self.problems() == []

    def picture(self, name):
        """Keeps a picture of the whole page, if somebody wants it."""
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            height = self.script("return document.documentElement.scrollHeight")
            self.driver.set_window_size(1440, min(max(1000, height + 140), 2400))
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(f"{folder}/{name}.png")
            self.driver.set_window_size(1440, 1000)
