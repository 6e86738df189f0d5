/** The guest said what it should not, or nothing in time. The message is for our log, never for a caller. */
export class GuestFault extends Error {}
