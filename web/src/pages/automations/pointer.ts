import type { syntaxTree } from '@codemirror/language';

type Tree = ReturnType<typeof syntaxTree>;
type SyntaxNode = Tree['topNode'];

/** Returns the place of a JSON pointer (RFC 6901) in a text, or of its nearest existing ancestor. */
export function rangeOf(tree: Tree, text: string, pointer: string): { from: number; to: number } {
  let node: SyntaxNode = tree.topNode.firstChild ?? tree.topNode;
  let found: { from: number; to: number } = node;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const next: SyntaxNode | undefined =
      node.name === 'Object'
        ? node.getChildren('Property').find((property) => nameOf(property, text) === key)
        : node.name === 'Array'
          ? valuesOf(node)[Number(key)]
          : undefined;
    if (!next) {
      break;
    }
    found = next.name === 'Property' ? (next.getChild('PropertyName') ?? next) : next;
    node = next.name === 'Property' ? (next.lastChild ?? next) : next;
  }
  return { from: found.from, to: Math.max(found.to, found.from) };
}

function nameOf(property: SyntaxNode, text: string): string | undefined {
  const name = property.getChild('PropertyName');
  try {
    return name ? (JSON.parse(text.slice(name.from, name.to)) as string) : undefined;
  } catch {
    return undefined;
  }
}

/** Finds duplicate keys of an object. The browser would send only the last one. */
export function repeatedKeys(object: SyntaxNode, text: string): { from: number; to: number }[] {
  const seen = new Set<string | undefined>();
  return object.getChildren('Property').flatMap((property) => {
    const name = nameOf(property, text);
    const key = property.getChild('PropertyName') ?? property;
    const again = name !== undefined && seen.has(name);
    seen.add(name);
    return again ? [{ from: key.from, to: key.to }] : [];
  });
}

function valuesOf(array: SyntaxNode): SyntaxNode[] {
  const values: SyntaxNode[] = [];
  for (let child = array.firstChild; child; child = child.nextSibling) {
    if (!'[],'.includes(child.name)) {
      values.push(child);
    }
  }
  return values;
}

/** Whether a browser keeps a JSON number exactly. The dashboard must not save a number that it would round. */
export function keepsNumber(text: string): boolean {
  return Number.isFinite(Number(text)) && exactly(text) === exactly(String(Number(text)));
}

/** Whether a browser keeps every number of a JSON text exactly. */
export function keepsNumbers(text: string): boolean {
  const numbers = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/-?\d[\d.eE+-]*/g) ?? [];
  return numbers.every(keepsNumber);
}

/** The canonical form of a number: its significant digits and a power of ten. */
function exactly(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().replace(/^-/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = (whole + fraction).replace(/^0+/, '');
  const significant = all.replace(/0+$/, '');
  return significant && `${significant}e${Number(exponent) - fraction.length + all.length - significant.length}`;
}
