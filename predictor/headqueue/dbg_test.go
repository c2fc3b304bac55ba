package headqueue
import ("testing";"math/rand/v2";"fmt")
func TestDbg(t *testing.T){
	rng := rand.New(rand.NewPCG(2, 2))
	for _,sz:=range []func()int{func() int { return 1 + rng.IntN(8) },func() int { return 1 + rng.IntN(199) }} {
	s := State{Capacity: 1 << 30, Running: machine(rng, 1000, sz)}
	s.Running[0].Procs=1000
	c:=Calc{WorkLimit:-1}
	c.need=1000
	c.load(s.Running)
	c.method="saddlepoint"
	c.eval(0,true);c.eval(horizon,true)
	lv:=Levels()
	dbgLog=nil
	c.approach(lv)
	fmt.Println(dbgLog);
	for _,q:=range lv {
	dbgLog=nil
	fmt.Println(q, c.quantile(curveMain, logit(q), fine), dbgLog)
	}
	dbgLog=nil
	fmt.Println(c.quantile(curveA, 0, fine), dbgLog)
	dbgLog=nil
	fmt.Println(c.quantile(curveB, 1000, fine), dbgLog)
	for _,p:=range c.pts { fmt.Printf("%.4g  norm %.3f main %.3f B %.4g\n",p.t,p.y[curveNormal],p.y[curveMain],p.y[curveB])}
	}
}
