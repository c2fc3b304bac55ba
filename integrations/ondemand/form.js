// Shows on the form of an interactive app of Open OnDemand when the session would probably start, and asks again when
// the form changes. It changes nothing in the form, and shows nothing if the daemon does not answer.
//
// Copy it into the app's folder as form.js, or append it to the form.js that is there, and set what differs. The site's
// address must be in the daemon's access.origins (docs/integrations.md of waitcast).
(() => {
  'use strict';

  const settings = {
    url: 'http://localhost:9817', // of the daemon, as browsers reach it; over https where OnDemand is
    cluster: '', // its name there, if the daemon has several
    // The form's fields: their names in form.yml. A queue or a number that the form has no field for is a constant.
    queue: { field: 'bc_queue', otherwise: '' },
    hours: { field: 'bc_num_hours', otherwise: 1 },
    nodes: { field: 'bc_num_slots', otherwise: 1 },
    procsPerNode: { field: 'num_cores', otherwise: 1 },
    pause: 400, // milliseconds without a change before the daemon is asked
    patience: 5000, // milliseconds within which it must have answered
  };

  const prefix = 'batch_connect_session_context';
  const form = document.getElementById(`new_${prefix}`);
  if (!form) return;

  const value = ({ field, otherwise }) => document.getElementById(`${prefix}_${field}`)?.value || otherwise;

  // spoken writes a duration as people say it.
  const spoken = (seconds) => {
    if (seconds < 60) return 'at once';
    const [unit, name, step] = seconds < 5400 ? [60, 'min', 5] : seconds < 129600 ? [3600, 'h', 1] : [86400, 'days', 1];
    const count = seconds / unit;
    return `in about ${count < 2 * step ? Math.round(count) : step * Math.round(count / step)} ${name}`;
  };

  const line = document.createElement('p');
  line.id = 'waitcast';
  line.setAttribute('role', 'status');
  line.style.whiteSpace = 'pre-line';
  form.append(line);

  // sentences tells a forecast; a text without an end is left out.
  const sentences = (wait) => {
    const { p50, p90 } = wait.wait_seconds;
    if (p50 === null) return 'The session would not start within the time that can be foreseen.';
    const median = `This session would probably start ${spoken(p50)}`;
    if (p90 === null || spoken(p90) === spoken(p50)) return `${median}.`;
    return `${median}; with a probability of 90 % ${spoken(p90).replace('in about', 'within about')}.`;
  };

  const ask = async (signal) => {
    const query = new URLSearchParams({
      queue: value(settings.queue),
      procs: Number(value(settings.nodes)) * Number(value(settings.procsPerNode)),
      time_limit: `${Math.round(Number(value(settings.hours)) * 60)}m`,
    });
    if (settings.cluster) query.set('cluster', settings.cluster);
    const response = await fetch(`${settings.url}/v1/wait?${query}`, { signal, credentials: 'omit' });
    return response.ok ? sentences(await response.json()) : '';
  };

  let asking = new AbortController();
  let timer;
  const renew = () => {
    clearTimeout(timer);
    asking.abort();
    const mine = (asking = new AbortController());
    timer = setTimeout(async () => {
      const limit = setTimeout(() => mine.abort(), settings.patience);
      const text = await ask(mine.signal).catch(() => '');
      clearTimeout(limit);
      if (mine === asking) line.textContent = text; // a later question has the word
    }, settings.pause);
  };
  form.addEventListener('change', renew);
  form.addEventListener('input', renew);
  renew();
})();
