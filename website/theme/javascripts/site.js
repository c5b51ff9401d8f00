// Tables that are wider than the screen scroll; with this also by keyboard.
document$.subscribe(() => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap")) region.tabIndex = 0;
});
