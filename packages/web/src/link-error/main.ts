import { forgetToken } from '../shared/forget-token.ts';

forgetToken();
