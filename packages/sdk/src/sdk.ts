/** Client of Berth. Entry point of this package. */
export type * from './generated/types.ts';
export type * from './generated/calls.ts';
export type * from './call.ts';
