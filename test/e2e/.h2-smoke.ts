import { startControlPlane } from '../cluster/control-plane.ts';
import { createNodes } from '../cluster/nodes.ts';
import { connect } from '../../src/kube/connect.ts';
import { raw } from '../cluster/raw.ts';
const c = await startControlPlane();
try {
  await createNodes(c, [{name:'n1'},{name:'n2'}]);
  const k = await connect({ kubeconfig: c.kubeconfig, env: process.env, log: (l,t)=>{ if(l<=6) console.log(t)}, version: '0.1.0' });
  console.log(await k.serverVersion());
  console.log(await k.cluster.listNodes());
  const n = (await k.cluster.getNode('n1'))!;
  console.log(await k.cluster.patchNode('n1', {resourceVersion:n.resourceVersion, labels:{a:'b'}, taints:[{key:'x',effect:'NoSchedule'}], record:'{}'}));
  console.log(await k.cluster.patchNode('n1', {resourceVersion:n.resourceVersion, labels:{a:'c'}}));
  console.log(await k.cluster.patchNode('nx', {resourceVersion:n.resourceVersion, labels:{a:'c'}}));
  await k.cluster.listPools().catch(e=>console.log(e.message,'|',e.next));
  const rc = await k.cluster.createRuntimeClass({metadata:{name:'rc1'},handler:'h',scheduling:{nodeSelector:{a:'b',c:'d'}}});
  console.log(rc.kind);
  if (rc.kind==='created'){ console.log(await k.cluster.patchRuntimeClass(rc.runtimeClass,{nodeSelector:{z:'1'}}), await k.cluster.patchRuntimeClass(rc.runtimeClass,{nodeSelector:{z:'2'}}), JSON.stringify(await k.cluster.getRuntimeClass('rc1')));
  console.log(await k.cluster.deleteRuntimeClass({...rc.runtimeClass, metadata:{...rc.runtimeClass.metadata, uid:'other'}}),await k.cluster.deleteRuntimeClass(rc.runtimeClass),await k.cluster.deleteRuntimeClass(rc.runtimeClass)); }
  const pool = {apiVersion:'nodes.lailin.xyz/v1',kind:'NodePool',metadata:{name:'p1',uid:'u1',resourceVersion:'5'},spec:{}};
  await k.cluster.createEvent(pool,{type:'Normal',reason:'Test',action:'Do',note:'é'.repeat(2000)});
  await raw(c).expect('POST','/api/v1/namespaces/default/events',{apiVersion:'v1',kind:'Event',metadata:{name:'p1.x',namespace:'default'},involvedObject:{kind:'NodePool',name:'p1',apiVersion:'nodes.lailin.xyz/v1'},reason:'Old',message:'hi',type:'Warning',count:7,firstTimestamp:'2026-01-01T00:00:00Z',lastTimestamp:'2026-01-02T00:00:00Z',source:{component:'oldop'}});
  console.log((await k.events.list('p1')).map(e=>({...e,note:e.note.length})), (await k.events.list()).length, (await k.events.list('zz')).length);
  k.close();
} finally { await c.stop(); }
