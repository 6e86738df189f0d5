import type { PageProps } from '../../../page-entry.ts';
import { RunPage } from './run-page.tsx';

export default function FlowPage({ params }: PageProps) {
  const name = params['name'] ?? '';
  return <RunPage key={name} kind="flows" name={name} />;
}
