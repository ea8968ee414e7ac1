/** What the page's policy allows style elements by: the server has put it into the page. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.nonce ?? '';
