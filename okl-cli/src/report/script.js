
// Values under the pointer. Everything can be read without it.
document.querySelectorAll('.plot[data-x]').forEach(function (plot) {
  var x = plot.dataset.x.split(' ').map(Number), y = plot.dataset.y.split(' ').map(Number), unit = plot.dataset.unit, over = plot.dataset.over;
  var names = plot.dataset.names.split('|'), lines = Array.from(plot.querySelectorAll('.line'), function (path) {
    return (path.getAttribute('d').match(/-?[\d.]+ -?[\d.]+/g) || []).map(function (p) { return p.split(' ').map(Number); });
  });
  function along(axis, s) { return axis[2] ? axis[0] * Math.pow(axis[1] / axis[0], s) : axis[0] + (axis[1] - axis[0]) * s; }
  function plain(r) { return String(Number(r.toPrecision(4))); }
  function value(v) {
    var r = along(y, 1 - v / 1000);
    if (unit === '%') return (100 * r).toFixed(2) + ' %';
    return unit === 'n' ? Math.round(r).toLocaleString('en') : plain(r);
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
    var where = along(x, near / 1000);
    note.textContent = [over === 'examples' ? 'example ' + Math.round(where).toLocaleString('en') : over + ' ' + plain(where)].concat(rows).join('\n');
  });
  plot.addEventListener('pointerleave', function () { mark.hidden = true; });
});
