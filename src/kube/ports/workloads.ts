/** The client for workloads that name a RuntimeClass. src/kube implements it. */
import type { NamingPod, NamingTemplate, TemplateKind } from '../../nodepool/plan/runtime-class-users.ts';

export interface WorkloadsPort {
  /** The pods that name one of these RuntimeClasses and have not ended. Reads every pod of the cluster. */
  pods(runtimeClasses: ReadonlySet<string>): Promise<NamingPod[]>;
  /** The objects of that kind whose pod template names one of them. Reads every object of the kind. */
  templates(kind: TemplateKind, runtimeClasses: ReadonlySet<string>): Promise<NamingTemplate[]>;
}
