# The controller already runs, but the CRD is missing: the controller retries with growing delays.
sleep 2
kubectl apply -f examples/count/manifests
kubectl wait --for=condition=Established crd/counts.demo.mark8s.io --timeout=20s
# A worker handles the spec of a new Count. Its status and an event show this.
kubectl apply -f examples/count/sample.yaml
kubectl wait count/test-count --for=jsonpath='{.status.healthy}'=true --timeout=40s
kubectl get counts
sleep 1; kubectl describe count test-count
# A worker also handles a changed spec, and the deletion.
kubectl patch count test-count --type=merge -p '{"spec":{"count":5}}'
kubectl wait count/test-count --for=jsonpath='{.status.observedGeneration}'=2 --timeout=20s
kubectl delete count test-count
