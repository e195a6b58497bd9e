// The state of a task board and its rendering to HTML; no framework, no build step.

const COLUMNS = ['backlog', 'doing', 'review', 'done'];
const LIMITS = { doing: 3, review: 2 };

let nextId = 1;

export function createTask(title, options = {}) {
  const trimmed = title.trim();
  if (trimmed === '') {
    throw new Error('a task needs a title');
  }
  return {
    id: nextId++,
    title: trimmed,
    column: 'backlog',
    labels: [...new Set(options.labels ?? [])],
    assignee: options.assignee ?? null,
    due: options.due ? new Date(options.due) : null,
    history: [],
  };
}

export function emptyBoard() {
  return { tasks: [], filter: { text: '', labels: [], assignee: null } };
}

export function reduce(board, action) {
  switch (action.type) {
    case 'add':
      return { ...board, tasks: [...board.tasks, createTask(action.title, action)] };
    case 'move': {
      const task = find(board, action.id);
      assertMove(board, task, action.column);
      const entry = { from: task.column, to: action.column, at: action.at ?? Date.now() };
      return replace(board, { ...task, column: action.column, history: [...task.history, entry] });
    }
    case 'assign':
      return replace(board, { ...find(board, action.id), assignee: action.assignee });
    case 'label': {
      const task = find(board, action.id);
      const labels = task.labels.includes(action.label)
        ? task.labels.filter((label) => label !== action.label)
        : [...task.labels, action.label];
      return replace(board, { ...task, labels });
    }
    case 'remove':
      return { ...board, tasks: board.tasks.filter((task) => task.id !== action.id) };
    case 'filter':
      return { ...board, filter: { ...board.filter, ...action.filter } };
    default:
      return board;
  }
}

function find(board, id) {
  const task = board.tasks.find((candidate) => candidate.id === id);
  if (!task) {
    throw new Error(`there is no task ${id}`);
  }
  return task;
}

function replace(board, changed) {
  return { ...board, tasks: board.tasks.map((task) => (task.id === changed.id ? changed : task)) };
}

function assertMove(board, task, column) {
  if (!COLUMNS.includes(column)) {
    throw new Error(`there is no column ${column}`);
  }
  const limit = LIMITS[column];
  const count = board.tasks.filter((other) => other.column === column && other.id !== task.id).length;
  if (limit !== undefined && count >= limit) {
    throw new Error(`${column} holds ${limit} tasks at most`);
  }
}

export function visible(board) {
  const { text, labels, assignee } = board.filter;
  const needle = text.toLowerCase();
  return board.tasks.filter((task) => {
    if (needle && !task.title.toLowerCase().includes(needle)) {
      return false;
    }
    if (assignee !== null && task.assignee !== assignee) {
      return false;
    }
    return labels.every((label) => task.labels.includes(label));
  });
}

export function grouped(board) {
  const groups = Object.fromEntries(COLUMNS.map((column) => [column, []]));
  for (const task of visible(board)) {
    groups[task.column].push(task);
  }
  for (const tasks of Object.values(groups)) {
    tasks.sort(byDueDate);
  }
  return groups;
}

function byDueDate(left, right) {
  if (left.due === null || right.due === null) {
    return (left.due === null) - (right.due === null) || left.id - right.id;
  }
  return left.due - right.due || left.id - right.id;
}

export function cycleTimes(board) {
  const times = [];
  for (const task of board.tasks) {
    const started = task.history.find((entry) => entry.to === 'doing');
    const finished = task.history.findLast((entry) => entry.to === 'done');
    if (started && finished && finished.at >= started.at) {
      times.push({ id: task.id, hours: (finished.at - started.at) / 3_600_000 });
    }
  }
  return times.sort((a, b) => a.hours - b.hours);
}

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (character) => ESCAPES[character]);
}

function renderTask(task, now) {
  const classes = ['task'];
  if (task.due !== null && task.due < now && task.column !== 'done') {
    classes.push('late');
  }
  const labels = task.labels.map((label) => `<span class="label">${escapeHtml(label)}</span>`).join('');
  const assignee = task.assignee ? `<span class="assignee">${escapeHtml(task.assignee)}</span>` : '';
  return `<li class="${classes.join(' ')}" data-id="${task.id}">${escapeHtml(task.title)}${labels}${assignee}</li>`;
}

export function render(board, now = new Date()) {
  const columns = Object.entries(grouped(board)).map(([name, tasks]) => {
    const limit = LIMITS[name] === undefined ? '' : ` / ${LIMITS[name]}`;
    const items = tasks.map((task) => renderTask(task, now)).join('\n');
    return `<section id="${name}"><h2>${name} (${tasks.length}${limit})</h2>\n<ul>\n${items}\n</ul></section>`;
  });
  return `<main class="board">\n${columns.join('\n')}\n</main>`;
}

export function subscribe(store, element) {
  let frame = null;
  const draw = () => {
    frame = null;
    element.innerHTML = render(store.getState());
  };
  return store.subscribe(() => {
    if (frame === null) {
      frame = requestAnimationFrame(draw);
    }
  });
}
