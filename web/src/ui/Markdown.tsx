import { lexer, type Token, type Tokens } from 'marked';
import { type ReactNode, useMemo } from 'react';
import { ExternalLink } from './ExternalLink.tsx';
import classes from './Markdown.module.css';

/** The parser would be too slow for a text with more characters or longer words. */
const longest = 100_000;
const longWord = /\S{8000}/;

/** Deeper nested quotes and lists are not formatted. */
const deepest = 20;

/**
 * Renders untrusted Markdown. HTML is text, images are links, and links only go to http and https. A text that would block the page is shown
 * unformatted.
 */
export function Markdown({ children }: { children: string }) {
  const tokens = useMemo(() => parse(children), [children]); // up to 100 kB
  return tokens ? <div className={classes.markdown}>{blocks(tokens, 0)}</div> : <div className="plain">{children}</div>;
}

function parse(text: string): Token[] | undefined {
  if (text.length > longest || longWord.test(text)) {
    return undefined;
  }
  try {
    return lexer(text, { gfm: true });
  } catch {
    return undefined; // it would overflow the stack
  }
}

function blocks(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
  return tokens?.map((token, i) => <Part key={i} token={token} depth={depth + 1} />);
}

function Part({ token, depth }: { token: Token; depth: number }): ReactNode {
  if (depth > deepest) {
    return token.raw;
  }
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'paragraph':
      return <p>{blocks(token.tokens, depth)}</p>;
    case 'heading':
      return <p className={classes.heading}>{blocks(token.tokens, depth)}</p>; // headings of the page are not the agent's to make
    case 'code':
      return <pre>{(token as Tokens.Code).text}</pre>;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens, depth)}</blockquote>;
    case 'hr':
      return <hr />;
    case 'br':
      return <br />;
    case 'list':
      return <List token={token as Tokens.List} depth={depth} />;
    case 'table':
      return <Grid token={token as Tokens.Table} depth={depth} />;
    case 'strong':
      return <strong>{blocks(token.tokens, depth)}</strong>;
    case 'em':
      return <em>{blocks(token.tokens, depth)}</em>;
    case 'del':
      return <del>{blocks(token.tokens, depth)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'link':
      return <ExternalLink href={(token as Tokens.Link).href}>{blocks(token.tokens, depth)}</ExternalLink>;
    case 'image':
      return (
        <ExternalLink href={(token as Tokens.Image).href}>{(token as Tokens.Image).text || (token as Tokens.Image).href}</ExternalLink>
      );
    case 'text':
      return 'tokens' in token && token.tokens ? blocks(token.tokens, depth) : token.raw;
    case 'escape':
      return (token as Tokens.Escape).text;
    default: // HTML and unknown tokens
      return token.raw;
  }
}

function List({ token, depth }: { token: Tokens.List; depth: number }): ReactNode {
  const items = token.items.map((item, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
    <li key={i}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label={item.checked ? 'done' : 'to do'} />}
      {blocks(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth,
      )}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Grid({ token, depth }: { token: Tokens.Table; depth: number }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          {token.header.map((cell, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
            <th key={i}>{blocks(cell.tokens, depth)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
          <tr key={i}>
            {row.map((cell, j) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
              <td key={j}>{blocks(cell.tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
