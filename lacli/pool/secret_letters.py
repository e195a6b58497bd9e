"""How surprising characters are in the identifiers and words of code: the model that `secret_random` uses. Data only.

Counted by tests/pool/count_letters.py over half of the standard library and of about fifty installed packages; the
limits were validated on the other half.
"""

from __future__ import annotations

LETTERS = (
    "c-lo+U2I!NdhJt#BIp`LQ5c9Hgm#g-h+7+2H=D+e#D@Y6ngH=bVtXAm7B+6;wQNh<rm-dQ?_rT2TeXNL8!IALx^Wa+7XR+XjxABVKZ{@!#iGU8wG"
    "t^J#XF5;i6Sp~ClXDOmv?5q4r3?f+r@C^4$pVKbI!*XE}wqoh0Y(}u#W%q*Nv;TSIV<oIG>-)z<8Y+CwV+fc64@CuG*gdd>N;U`F$BsXerRm`2=s"
    "7x(Afo&!W18vPn&+C90$eM+lpBgIuM&UuOP3=-m4Zr>ZwF%F9zE9GRi4&NGDJ*@fcj9fNsTy28tSc>meEAPz8OKzN$8ayVG^jYr(+^LVf~Ow_9iC"
    "a%K=Gl$Mx-g@DNJ~igVm$29f*fT)(f$^ziY6&ua$oJ8pn`|SdwgRlgiVHjtkTR+x6L4)F1{}grw}4Y7XSp?!UTG}C7FD}2;BU%4{tW@gHL(i_nsY"
    "X*Fy;7xl<@pg%wNU3J-PS+Zp==Dx(40E<vgsTv_WhjiWXZ50?DLqPL0DF^%)2-#=r?WDBwNZso&!h{(JiW*j`k#hCg&x7>7@6g^0snE?#$4;d1rV"
    "#lZ%-Z6^0MpsJiQB9;+mPiUJUQvd?e8<}J>&c&?}@R1C{pM;&Ce>8GC45Y?i_Pkf4%%2)1R=C!uf5xf!n$F2*#IaZOlIkrk18tj4>YD=IQn#$*J1"
    "Je|5VY0jTKr|g^@&X=D+=l4FW!eY3$8OeSjRyDe31;)y;!HxpJpAk0iBxf%rudXd_C5;*hoY@-D4c3u&feDRK2ep1_@`WodbKxds4z_j5*CgD}zT"
    "&7C2&sU%vz{?*AZf6HY?cZearALrEGrR3{?|HTF=^!pKo_rW<_9Kf|`CN%&?JT2)%i19{)nYt_+nhChBBa0*)#<ooc-gdcZrlA%@Kg)w#^Tw6#KV"
    "Rv1L=OO+me{ElH?Zg|N;8+6EK&AjZQ8p0a#tGii_Fq7mg$X5Z&ri4uWlohi!0gCuXhVZjWi}^qh+6H*d0JBA1J6U;52pTmtqCvT#?buno69+^4T#"
    "B0C3yENhoyBUiiM16U9dN9YrX?|Q6^6`IB*ZgaP0xSyUdOo+nqp|Bzx1CX~Sq2lP}IX+AZ=}UHVBRIeqlDBPd4KX|Bcvh^FF@NXor=vW5`>R)$kb"
    "tk7@ar*UnofWM{uN0{TU%D^u{WKh2`NO8ujwQdM(bs$t4G1~inX<?OjZ{vaU3r^oxR!h{Ed>#-IY;qvc`&4icNDf1#0%Nw`l|m$tb!ZYEu(ysc>9"
    "^qEm#XFPqX+ZHl`ZiQ9SOw)LlALoHNxL|%mW<HERVS}5T$Iut=T!c*YDI+IzEV4`ZHsq5fkJU>}3N4JNK6Psj@cwGy@K2TM0zVzQMN`T!&qH+M<*"
    "rarIBL#K{wDvV39zbAY{iRiC^XJ1PU7%O-sk!nd?T{$#;Gk%=iNQzp3d0NxPz5<7XoN>vjX@@L_$nI!K>qoiUBIP~T1Iy#9KdPH~L_V9d}<83uwf"
    "nY<Q+vZ4ViQ73cG~_*U$Rr3Gb%H6?I{X4EjHv-r-1pA01~zd``xF#MbMhsz0HQ}hZGESUbFu;&C)D<SJqjp|9dUE&p_x3$N3dD_*i?R@J`!Qs{uJ"
    ";Ac>r&N?0jMp?%F-+JTr#!MWsj*8{W`$e&H@2blHx&<sAu?2r9T;YY=_XI}~of&s%pUZvdmW0+@}w5y=*#j59@CWj39S*ky<=DjC7v3fcMO5G(iT"
    "?_Q}}Nw_GVZ)!+d=h9H7_RY&sjA^B9r0XQxk=zo!K;u}jH`O5;J$S<FY4LXwqHp#H9aZrU@YaZHvmImuulUl0DmlD^8`HTYtk$|6SLLk~*)3RAL3"
    "}q`7F~Z}T2scz(eTv|2b0o(6;&63D^zp|p2ju4N@$7gCLAAHYHVF<s=;1|OOjc+d5P%asYuB!5>fAw;Y9gp3n%GmhZnHLwaNZwNr-^AG|XmJm^Oe"
    "SQ+a-sYJb~7GNMbw%6)iY-FoC~n{&DTq!eOCCV%PFnxoQ~8Ll_WmTbUy)sr1#BWS+8ZxQPCVWXX^R%4g50rupEgl9`AbKNOxLv>G3ZVVvYxnbx(T"
    "Rh#~VfT?~-DMH>wl6ehSyON&GQ(n}*kXHwTb48FIAsr$u5jwGr;~M1Df<Tyw@&F^4o7Tt_Z~f+!jbA7QAYOv@J{rr6UT`~vRev<XkR=Xv2((+Xbt"
    ">KuN;FVIko1=0BLfKqbwRxGMa4r|3)-M>Y`vT#7<p^i0Y&e;y~7OT}S0|Q#Pmxk+ql3jI9dQbreVRf>5)&0VE{aB!>Fb?rtVFIUY+~McWq<>=k9?"
    "y23T$fOHO<o112pw!IjkLf0Mkz4rQ<)$RUYi84LwaJ-s7?3saLU0r(%@D1MXf4!zQdcMeulZn&AK~-6QpwV@i?RIYX%k`-NOtW9~hmw<gmA0m(#!"
    "|bvr)LVHg%PQr9iY_TYqQh;q^(6jUVt;BGfap>r?AB5Os7#3o<&KP8=o`mt_l!UCg6?C=u-_in&788^?2vvj<X;6;tDU3@8Ko*rL)`p#^<<33B29"
    "ebv^{f#ao+G1@0sIHxGe)5v}xQK<$Zl9^-*$F*%*rM?@3s@GqbcuP?FP>uo36i`k)c<iiXRR<Hytx0rV5*Uk>c^J7&k<BDgVD7wqPR+27Q`eYG?&"
    "&95ES1p{{{ExEGDOaKe&@5i43P2KHWS1@J(c<~q6(=?yf9%<!;5Fpb@8JdhEBAzGP0zp}E2D*)XOpnHM+$MW%8s|)sETev4k!J%qWu9V6;=%-1}("
    "*p-3sMIrX+=*aO$Kf4gj~2hy=xE`1w@#^BQT{yUZB)NQ9OhXe85|)fw&v>uAckJ14d%@&Y#qnclLUQeDl+Cc-HY2_;x9KeJOGStM^I{%DJu5YRjB"
    "!@EcD>IsqGT120cl9I+DCT;+bCdpB)@hdmkBQ$Xt*exYL$I}SE${gqbs7N5r=Ipy*2AJVFyh4xQDpUVX@cLiM5&la^l5NlI1e`V-=f1&{;yq@Gd}"
    "Yk&8wOFRyiG%BA*rqshv=_u7x@i0)x@G|rC&HQ0;h(eCH06TR<h3458`moa=SK2)IL2MVYA`2i<1Rwazh~|;4fkSej8NB6B<)U*3AB6S-?v>vQT~"
    "x_D&>gHZ624u#wDCtyUC?OJKk*JS=i=C;$6fTCiJK8$SE^I<x3g+iGB$;Ow8};sjxB<ih99)<wd-6la+iV9dP<>jfq~OVB&hZf_2ru~pwLx%{DJ_"
    "Fdyb9E=~tA(;2|J|qXuN!JrOqG>`LIKkuqD?;a*|Hi>S{34q0%mY28UKwP86gJiQ^69YtPN$PiNt*o|qD3`_EX(I-lZ`6WnRmo&Lt)EZU4_nk*Iy"
    "qlpsYF3TOgXFPOX<n*aGcam`!-3-Ig)40KG*deyKn<kjetz5?;ca;xN<{hfuiSd$ireXaN{|z+Sy-Y@fJhQ0_q{x6&&PFN%^V79y#GtUdn;+_qa&"
    "NiHKSJHLTut_rZ1-eWtq&LnNh0um+DhQnvcDcd7u;r5JR`XWS^XcmK<&<>rsm{|1r(xV{MzM`kU%e@uxo)p+CP?%ImiYd2Yr_*R2E!cnv;(l<#)%"
    "tV(iQyQ^fBcHpOb(16xexEywC|IX69Yj!mIzw3P0dy~YC+?hML25tZ~g_y!E9tQV|Lz9uDr`pGpQ2j%<7+YC+D!iCv(8-iY&ow4(Un(mzXMbJAuy"
    ")QqKUcxvCY4kXcj3O=>O}rTD)I;b9Q%JQ66QEGDh9c)8%~9Ru`-MOkZrQm0tJdoY__*)&C%`&Nt<$gJ96JrD;w_o{!>i4|G{3)F&&V_Pt;c+QEbV"
    "2ii!r!|dx-n_zykxf3itP6phnX{xAZ?C)c>L=yl1ty<Ik>q7IE`}}vFD8|Zd5Es-fe05#=Vw1H@|dQPJk_rQ(LWO+BqlIAd}|?cc}`GXJ-io2lF+"
    "^PaiDco1ZRxXpa7I@E!ZM_6>1d(eTmYGA$TATQ`l8`4dg=n-J5qU!!rVV01c#dF+g<-Ynx{B4sdh>*q<ww2(;;Jo0`W*x$CXxodW^Xv^LfglSj+K"
    "OPY~wlk&$2lRv=Y$yMR@-0h-p$6BdWL36qq{Uv+>pY2Nk^QihRj?Yg!8>>L<Xd<F?JUyG|PCcqB3u8e375Qru&iIn{R~;o;7^Mb#9*6_r>n;(CXx"
    "Chpm51_odN0FxiJ=`^P=&KD26jVv?oB483Zo)9^wJ?I!Xv-qC%tuHM&%YPR*dA-czOJW`iqk_l$L7sG93A}8ai$RMIU$P8?mdti^ry{B+KeQ;yqu"
    "gGZEf#WInjHymoawHZZ8ig5=oQEvQqG`74r?inQ`du<m_z&&AW3a{INacDlrJpg#}?;4$~H+N=?(c{7Ol<k|jIe?KPCyYM<w@+*#XJe5BY<i&(G^"
    "_LtYBut#_AyQ=rNc}<_hRK~t?YQ(u5)j58$CI(xdAUGlj0&F=@am@Mg$$|n6o~3{6eA@hi!kp%{QX#WcVlE=!R%SYVeb9OVb(M-u|v@m(?oKxOkQ"
    "7@3Fp2OhcpKJ`{dC5@6fN_6hppO$b0;JzQWt!;P07X^7sd$K^Ppo=j+Ie%$FJ6w+f2LNGG{&LA&-_5v3MGxE^o9d%0YyD(fOnVzMGQclv97{-mw@"
    "!M!&uD(6EhO@+#fv0}KS8j(f#DmAvc#;m$lTq(#Ia_sts$b6Le^=2?T#dXrqqOz+)vLX}VUCm(T*ALx?w{y7bx1%yfxb_qwH0(-6cpxiOAHXZ?=D"
    "RwHBgc!N+^XFk73gN2$u%+Az=|e<ndBAlPDRyFC}X9uDfVnI?@Pj%L<D6un26{%Ba|RhjAJD3bWeqsNGd%jWF31I{W0KZ1%zyrjw&~IS<R_UWMk&"
    "%sHweDXzbdex1slj<@aZ@U^TiQh=XIw$qKnz@0GIbxnO=(Sp(&smxLKqz~5#=tg3`UTn@}fd|&B8)`LkADf!Nd7-eXo3Ga*%NsN~hRKXEGfC*W*;"
    "NKRlp^gT~q$Od&lIoL2xfT2__g*eVGwnQ{o`d4DQ&LKyF)bdnw(q|TrRJX&fU*y}Meco5<lbF!{A=>!e^$4A)GLDepZp)Y;!0x"
)
"""Base 85 of the zlib stream of 2-bit levels [27, 27, 26]: second letter before (0: none), letter before (0: none),
letter. Indices into `LEVELS`."""

LEVELS = (20, 43, 64, 107)
"""Surprise of the letters of each level, in sixteenths of a nat."""

SHAPES = (
    "ALKCGAHLCJANECSAQNAXAQOCEALKCGACNEOAKBKOATVAYASRECALKCGASDDJANBJMANBIJAPCHFALKCGAQNAMAMCHIAKVBPAWOBKALKCGASMLBAN"
    "BRGAYYAPAKPMB"
)
"""Surprise of a character's class after the classes of the two before it, [5, 5, 5] (other, sign, digit, lower case,
upper case), in quarters of a nat; "A" is 0."""
