/** Address of a page, such as `hrefOf('/sessions/ses_1')`. */
export const hrefOf = (path: string): string => (path === '/' ? '/dashboard' : `/dashboard${path}`);
