# The controller runs already and finds no such resource: it waits for the definition, a little longer each time.
sleep 2
kubectl apply -f examples/count/manifests
kubectl wait --for=condition=Established crd/counts.demo.mark8s.io --timeout=20s
# An object of it is brought to its spec, which its status and an event tell.
kubectl apply -f examples/count/sample.yaml
kubectl wait count/test-count --for=jsonpath='{.status.healthy}'=true --timeout=40s
kubectl get counts
sleep 1; kubectl describe count test-count
# A change of the spec is worked on once more; so is the deletion.
kubectl patch count test-count --type=merge -p '{"spec":{"count":5}}'
kubectl wait count/test-count --for=jsonpath='{.status.observedGeneration}'=2 --timeout=20s
kubectl delete count test-count
