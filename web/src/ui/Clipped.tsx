/** One line of text that ends where its place does; all of it is its title. */
export function Clipped({ children }: { children: string }) {
  return children === '' ? null : (
    <div className="clip" title={children}>
      {children}
    </div>
  );
}
