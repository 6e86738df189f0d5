/** How the secrets of this service begin, so that one in the wrong place is recognised by its prefix alone. */
export const apiKeyPrefix = 'brt_live_';
export const connectTokenPrefix = 'brt_connect_';
/** The prefix of the secret in a link that signs in once. */
export const signInLinkPrefix = 'brt_link_';
/** Made by the service; an operator's own admin key has none. */
export const adminKeyPrefix = 'brt_admin_';
