/** A secret whose middle is hidden; short ones are hidden whole. */
export const maskedSecret = (secret: string): string => (secret.length > 20 ? `${secret.slice(0, 9)}…${secret.slice(-4)}` : '…');
