/** Inputs of several templates. */
import { boundedString } from '@berth/contract';

export const Selector = boundedString(1, 500);
