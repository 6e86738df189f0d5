/** How this installation is started and asked, for texts that tell people what to run. */
import { readFileSync } from 'node:fs';

const ofSources = {
  start: 'npm start',
  /** Before options. */
  startWith: 'npm start --',
  usage: 'npm start [-- OPTIONS]',
  doctor: 'npm run doctor',
  doctorForPrograms: 'npm run -s doctor -- --json',
  /** Before the name of a file. */
  backup: 'npm run backup --',
  restore: 'npm run restore --',
  'api-key': 'npm run -s api-key',
};

const ofPackage: typeof ofSources = {
  start: 'berth up',
  startWith: 'berth up',
  usage: 'berth up [OPTIONS]',
  doctor: 'berth up doctor',
  doctorForPrograms: 'berth up doctor --json',
  backup: 'berth up backup',
  restore: 'berth up restore',
  'api-key': 'berth up api-key',
};

const { name } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')) as { name: string };

/** The package has the command line beside the service; a source tree is run by npm. */
export const ownCommands = name === '@berth/berth' ? ofPackage : ofSources;
