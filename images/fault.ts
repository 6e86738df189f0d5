/** What the operator can put right: told in one line, without a stack. */
export class ImageFault extends Error {}
