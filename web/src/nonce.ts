/** The nonce that the page's policy requires of style elements. The server puts it into the page. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.nonce ?? '';
