
// Values under the pointer. Everything can be read without it.
document.querySelectorAll('.plot[data-x]').forEach(function (plot) {
  var x = plot.dataset.x.split(' ').map(Number), y = plot.dataset.y.split(' ').map(Number), unit = plot.dataset.unit;
  var names = plot.dataset.names.split('|'), lines = Array.from(plot.querySelectorAll('.line'), function (path) {
    return (path.getAttribute('d').match(/-?[\d.]+ -?[\d.]+/g) || []).map(function (p) { return p.split(' ').map(Number); });
  });
  function value(v) {
    var s = 1 - v / 1000, r = y[2] ? y[0] * Math.pow(y[1] / y[0], s) : y[0] + (y[1] - y[0]) * s;
    if (unit === '%') return (100 * r).toFixed(2) + ' %';
    return unit === 'n' ? Math.round(r).toLocaleString('en') : String(Number(r.toPrecision(4)));
  }
  var mark = document.createElement('div'), note = document.createElement('span');
  mark.className = 'hover'; mark.hidden = true; mark.appendChild(note); plot.appendChild(mark);
  plot.addEventListener('pointermove', function (event) {
    var box = plot.getBoundingClientRect(), at = 1000 * (event.clientX - box.left) / box.width, near = null;
    var rows = lines.map(function (line, i) {
      var best = line.reduce(function (a, b) { return !a || Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a; }, null);
      if (best) near = best[0];
      return best ? names[i] + ': ' + value(best[1]) : '';
    }).filter(Boolean).reverse();
    if (near === null) return;
    mark.hidden = false; mark.style.left = near / 10 + '%'; mark.className = near > 550 ? 'hover left' : 'hover';
    note.textContent = ['example ' + Math.round(x[0] + (x[1] - x[0]) * near / 1000).toLocaleString('en')].concat(rows).join('\n');
  });
  plot.addEventListener('pointerleave', function () { mark.hidden = true; });
});
