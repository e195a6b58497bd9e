// A parser and evaluator of arithmetic expressions with variables and functions (precedence climbing).

const OPERATORS = {
  '+': { precedence: 1, right: false, apply: (a, b) => a + b },
  '-': { precedence: 1, right: false, apply: (a, b) => a - b },
  '*': { precedence: 2, right: false, apply: (a, b) => a * b },
  '/': { precedence: 2, right: false, apply: (a, b) => a / b },
  '%': { precedence: 2, right: false, apply: (a, b) => a % b },
  '^': { precedence: 4, right: true, apply: (a, b) => a ** b },
};

const UNARY_PRECEDENCE = 3;

const FUNCTIONS = {
  abs: Math.abs,
  max: Math.max,
  min: Math.min,
  round: (value, digits = 0) => {
    const factor = 10 ** digits;
    return Math.round(value * factor) / factor;
  },
  sqrt: Math.sqrt,
};

export class ParseError extends Error {
  constructor(message, position) {
    super(`${message} at ${position + 1}`);
    this.name = 'ParseError';
    this.position = position;
  }
}

export function* tokenize(source) {
  const pattern = /\s*(?:(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)|([A-Za-z_]\w*)|(.))/gy;
  let match;
  while ((match = pattern.exec(source)) !== null) {
    const [text, number, name, symbol] = match;
    const position = match.index + text.length - text.trimStart().length;
    if (number !== undefined) {
      yield { kind: 'number', value: Number(number), position };
    } else if (name !== undefined) {
      yield { kind: 'name', value: name, position };
    } else if (symbol !== undefined && symbol.trim()) {
      yield { kind: 'symbol', value: symbol, position };
    }
  }
  yield { kind: 'end', value: '', position: source.length };
}

class Parser {
  constructor(source) {
    this.tokens = [...tokenize(source)];
    this.index = 0;
  }

  get token() {
    return this.tokens[this.index];
  }

  next() {
    const token = this.token;
    this.index += 1;
    return token;
  }

  accept(value) {
    if (this.token.kind === 'symbol' && this.token.value === value) {
      return this.next();
    }
    return null;
  }

  expect(value) {
    const token = this.accept(value);
    if (token === null) {
      throw new ParseError(`expected ${value}`, this.token.position);
    }
    return token;
  }

  parse() {
    const tree = this.expression(0);
    if (this.token.kind !== 'end') {
      throw new ParseError(`unexpected ${this.token.value}`, this.token.position);
    }
    return tree;
  }

  expression(least) {
    let left = this.unary();
    for (;;) {
      const operator = this.token.kind === 'symbol' ? OPERATORS[this.token.value] : undefined;
      if (operator === undefined || operator.precedence < least) {
        return left;
      }
      const { value } = this.next();
      const right = this.expression(operator.right ? operator.precedence : operator.precedence + 1);
      left = { type: 'binary', operator: value, left, right };
    }
  }

  unary() {
    if (this.accept('-')) {
      return { type: 'negate', operand: this.expression(UNARY_PRECEDENCE) };
    }
    if (this.accept('+')) {
      return this.expression(UNARY_PRECEDENCE);
    }
    return this.primary();
  }

  primary() {
    const token = this.next();
    if (token.kind === 'number') {
      return { type: 'number', value: token.value };
    }
    if (token.kind === 'name') {
      if (this.accept('(')) {
        return { type: 'call', name: token.value, args: this.args(), position: token.position };
      }
      return { type: 'variable', name: token.value, position: token.position };
    }
    if (token.value === '(') {
      const inner = this.expression(0);
      this.expect(')');
      return inner;
    }
    throw new ParseError(token.kind === 'end' ? 'unexpected end' : `unexpected ${token.value}`, token.position);
  }

  args() {
    const list = [];
    if (this.accept(')')) {
      return list;
    }
    do {
      list.push(this.expression(0));
    } while (this.accept(','));
    this.expect(')');
    return list;
  }
}

export function parse(source) {
  return new Parser(source).parse();
}

export function evaluate(tree, variables = {}) {
  switch (tree.type) {
    case 'number':
      return tree.value;
    case 'negate':
      return -evaluate(tree.operand, variables);
    case 'binary':
      return OPERATORS[tree.operator].apply(evaluate(tree.left, variables), evaluate(tree.right, variables));
    case 'variable':
      if (!(tree.name in variables)) {
        throw new ParseError(`unknown variable ${tree.name}`, tree.position);
      }
      return variables[tree.name];
    case 'call': {
      const callee = FUNCTIONS[tree.name];
      if (callee === undefined) {
        throw new ParseError(`unknown function ${tree.name}`, tree.position);
      }
      return callee(...tree.args.map((argument) => evaluate(argument, variables)));
    }
    default:
      throw new TypeError(`unknown node ${tree.type}`);
  }
}

export function variablesOf(tree, found = new Set()) {
  if (tree.type === 'variable') {
    found.add(tree.name);
  }
  for (const child of [tree.left, tree.right, tree.operand, ...(tree.args ?? [])]) {
    if (child) {
      variablesOf(child, found);
    }
  }
  return found;
}

export function format(tree) {
  switch (tree.type) {
    case 'binary':
      return `(${format(tree.left)} ${tree.operator} ${format(tree.right)})`;
    case 'negate':
      return `-${format(tree.operand)}`;
    case 'call':
      return `${tree.name}(${tree.args.map(format).join(', ')})`;
    default:
      return String(tree.value ?? tree.name);
  }
}
