/** The version of this program, in the file that is published with it. */
import packageFile from '../package.json' with { type: 'json' };

export const { version } = packageFile;
