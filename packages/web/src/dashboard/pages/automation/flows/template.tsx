import type { PageProps } from '../../../page-entry.ts';
import { RunPage } from './run-page.tsx';

export default function TemplatePage({ params }: PageProps) {
  const name = params['name'] ?? '';
  return <RunPage key={name} kind="templates" name={name} />;
}
