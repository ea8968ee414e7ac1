import { lexer, type Token, type Tokens } from 'marked';
import { type ReactNode, useMemo } from 'react';
import { ExternalLink } from './ExternalLink.tsx';
import classes from './Markdown.module.css';

/** Renders Markdown of others. HTML in it is text, images are links, and links lead to http and https alone. */
export function Markdown({ children }: { children: string }) {
  const tokens = useMemo(() => lexer(children, { gfm: true }), [children]);
  return <div className={classes.markdown}>{blocks(tokens)}</div>;
}

function blocks(tokens: readonly Token[] | undefined): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
  return tokens?.map((token, i) => <Part key={i} token={token} />);
}

function Part({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'paragraph':
      return <p>{blocks(token.tokens)}</p>;
    case 'heading':
      return <p className={classes.heading}>{blocks(token.tokens)}</p>; // headings of the page are not the agent's to make
    case 'code':
      return <pre>{(token as Tokens.Code).text}</pre>;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case 'hr':
      return <hr />;
    case 'br':
      return <br />;
    case 'list':
      return <List token={token as Tokens.List} />;
    case 'table':
      return <Grid token={token as Tokens.Table} />;
    case 'strong':
      return <strong>{blocks(token.tokens)}</strong>;
    case 'em':
      return <em>{blocks(token.tokens)}</em>;
    case 'del':
      return <del>{blocks(token.tokens)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'link':
      return <ExternalLink href={(token as Tokens.Link).href}>{blocks(token.tokens)}</ExternalLink>;
    case 'image':
      return (
        <ExternalLink href={(token as Tokens.Image).href}>{(token as Tokens.Image).text || (token as Tokens.Image).href}</ExternalLink>
      );
    case 'text':
      return 'tokens' in token && token.tokens ? blocks(token.tokens) : token.raw;
    case 'escape':
      return (token as Tokens.Escape).text;
    default: // HTML, and whatever else there may be
      return token.raw;
  }
}

function List({ token }: { token: Tokens.List }): ReactNode {
  const items = token.items.map((item, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
    <li key={i}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label={item.checked ? 'done' : 'to do'} />}
      {blocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Grid({ token }: { token: Tokens.Table }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          {token.header.map((cell, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
            <th key={i}>{blocks(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
          <tr key={i}>
            {row.map((cell, j) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a text is rendered as a whole
              <td key={j}>{blocks(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
